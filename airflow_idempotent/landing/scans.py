"""Watching a file of any format go by: is it what the spec says, which columns has it, how many rows?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, assert_never

from airflow_idempotent.core.manifest import CsvFormat, Format, JsonlFormat, ParquetFormat
from airflow_idempotent.formats.json_lines import LineSplitter, parsed
from airflow_idempotent.formats.parquet import FooterReader
from airflow_idempotent.formats.refused import RefusedError
from airflow_idempotent.landing.csv_records import CsvScan


class Scan(Protocol):
    """Watches the unpacked bytes of one file."""

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    def feed(self, chunk: bytes) -> None: ...
    def finish(self) -> int: ...


def scan_of(form: Format, file: str, columns: Sequence[str] = ()) -> Scan:
    """What watches a file of that format. ``columns`` are those of a CSV without a header."""
    match form:
        case CsvFormat():
            return CsvScan(form, file, columns)
        case JsonlFormat():
            return JsonlScan()
        case ParquetFormat():
            return ParquetScan()
        case _:
            assert_never(form)


class JsonlScan:
    """Checks each line of JSON Lines, gathers the keys, counts.

    Raises:
        RefusedError: a line that is no JSON object; keys that no column can be named by.
    """

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._keys: dict[str, None] = {}
        self.rows = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Every key, in the order of first sight."""
        return tuple(self._keys)

    def feed(self, chunk: bytes) -> None:
        """Look at the next chunk."""
        for number, line in self._lines.feed(chunk):
            self._take(number, line)

    def finish(self) -> int:
        """The number of rows, now that all has been fed."""
        for number, line in self._lines.finish():
            self._take(number, line)
        if self.rows and not self._keys:
            raise RefusedError("has no key in any of its objects")
        return self.rows

    def _take(self, number: int, line: bytes) -> None:
        record = parsed(number, line)[1]
        if not record.keys() <= self._keys.keys():
            for name in record:
                if not name or "\0" in name:
                    raise RefusedError("has an object with a key that names no column", line=number)
                self._keys[name] = None
        self.rows += 1


class ParquetScan:
    """Reads the footer of a Parquet file when it has gone by.

    Raises:
        RefusedError: it is no Parquet file, or its columns cannot be named.
        PackageMissingError: pyarrow is not installed.
    """

    def __init__(self) -> None:
        self._reader = FooterReader()
        self.rows = 0
        self.columns: tuple[str, ...] = ()

    def feed(self, chunk: bytes) -> None:
        """Look at the next chunk."""
        self._reader.feed(chunk)

    def finish(self) -> int:
        """The number of rows, now that all has been fed."""
        footer = self._reader.finish()
        self.rows, self.columns = footer.rows, footer.columns
        return self.rows

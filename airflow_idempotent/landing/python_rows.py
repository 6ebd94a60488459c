"""Lands what a Python function yields: rows as mappings, Arrow tables and batches, or CSV as bytes.

Memory does not grow with the number of rows: they are written as they come. Equal rows in equal order are
equal bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import chain
from typing import Any

from airflow_idempotent.errors import IdempotentError, PythonSourceError, PythonSourceFailedError
from airflow_idempotent.formats.arrow import arrow_csv
from airflow_idempotent.formats.refused import RefusedError
from airflow_idempotent.landing.callables import described, is_airflows
from airflow_idempotent.landing.csv_text import CsvText
from airflow_idempotent.landing.inputs import PythonInput
from airflow_idempotent.landing.part import PartWriter, RowBuffer
from airflow_idempotent.landing.plain_values import plain_value


class PythonRows:
    """One call of a source function: knows whether there is anything, then writes it."""

    def __init__(self, source: PythonInput, *, table: str, partition: str) -> None:
        self._source, self._where = source, {"table": table, "partition": partition, "function": source.function}
        self._text = CsvText(source.format)
        self._header: tuple[str, ...] = ()
        self._rows = 0
        returned = source.call()
        self._items: Generator[Any, None, None] = self._told(self._items_of(returned))
        self._first = list(_take_one(self._items))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write, not even a header."""
        return not self._first and not self._source.columns

    def write(self, writer: PartWriter) -> None:
        """Write everything to ``writer``.

        Raises:
            PythonSourceError: something yielded is no row, or has other columns than the first.
            PythonSourceFailedError: the function raised an error on the way.
        """
        with closing(self._items):
            if self._first and isinstance(self._first[0], bytes | bytearray | memoryview):
                self._write_bytes(writer)
            else:
                self._write_rows(writer)

    def _write_rows(self, writer: PartWriter) -> None:
        out = RowBuffer(writer)
        if not self._first:
            out.write(self._text.header(self._source.columns))
        for item in chain(self._first, self._items):
            for piece in self._pieces(item):
                out.write(piece)
        out.flush()

    def _write_bytes(self, writer: PartWriter) -> None:
        for item in chain(self._first, self._items):
            if not isinstance(item, bytes | bytearray | memoryview):
                raise self._wrong(f"yields bytes first and {type(item).__name__} later")
            if chunk := bytes(item):
                writer.write(chunk)

    def _pieces(self, item: Any) -> Iterator[bytes]:
        """The CSV of one thing that was yielded."""
        if isinstance(item, Mapping):
            yield self._row(item)
        elif hasattr(item, "to_batches"):  # pyarrow.Table
            yield from self._arrow(item.schema.names, item.to_batches())
        elif hasattr(item, "to_pylist") and hasattr(item, "schema"):  # pyarrow.RecordBatch
            yield from self._arrow(item.schema.names, [item])
        elif hasattr(item, "read_next_batch"):  # pyarrow.RecordBatchReader
            yield from self._arrow(item.schema.names, self._told(item))
        else:
            raise self._wrong(
                f"yields {type(item).__name__} as row {self._rows + 1}: yield dicts, Arrow tables or batches, or bytes"
            )

    def _arrow(self, names: list[str], batches: Iterable[Any]) -> Iterator[bytes]:
        """Whole columns at a time, without an object for each value."""
        if len(set(names)) != len(names):
            raise self._wrong(f"yields Arrow data with a column twice: {', '.join(names)}")
        if not self._header:
            yield self._begin(names)
        for batch in batches:
            self._compare(batch.schema.names)
            types = {name: "json" if name in self._source.json_columns else "text[]" for name in self._header}
            try:
                yield from arrow_csv(batch.select(list(self._header)), types=types, header=False)
            except RefusedError as error:
                where = f"row {self._rows + (error.row or 1)}" + (f", column {error.column!r}" if error.column else "")
                raise self._wrong(f"yields {where}: {error.reason}") from None
            self._rows += batch.num_rows

    def _begin(self, names: Iterable[Any]) -> bytes:
        header: tuple[Any, ...] = tuple(names)
        if not header or not all(isinstance(name, str) and name for name in header):
            raise self._wrong(f"yields a first row whose keys are not all names: {header!r}")
        self._header = header
        return self._text.header(self._header)

    def _row(self, row: Mapping[str, Any]) -> bytes:
        header = b"" if self._header else self._begin(row)
        self._compare(row)
        self._rows += 1
        values = [self._value(name, row[name]) for name in self._header]
        try:
            return header + self._text.rows([values])
        except UnicodeEncodeError as error:
            raise self._wrong(f"yields row {self._rows} with text that is no Unicode ({error.reason})") from None

    def _compare(self, names: Collection[str]) -> None:
        """Refuse the next row when it has other keys than the first."""
        if len(names) == len(self._header) and all(name in names for name in self._header):
            return
        more = [repr(name) for name in names if name not in self._header]
        less = [repr(name) for name in self._header if name not in names]
        parts = [f"{word} {', '.join(found)}" for word, found in (("has also", more), ("lacks", less)) if found]
        raise self._wrong(f"yields row {self._rows + 1} with other keys than the first: it {' and '.join(parts)}")

    def _value(self, name: str, value: Any) -> Any:
        try:
            return plain_value(value, as_json=name in self._source.json_columns)
        except ValueError as error:
            raise self._wrong(f"yields row {self._rows}, column {name!r}: {error}") from None

    def _items_of(self, returned: Any) -> Iterable[Any]:
        """What was returned as a stream of things to write."""
        whole = isinstance(returned, bytes | bytearray | memoryview) or hasattr(returned, "schema")
        if whole and not isinstance(returned, Mapping):
            return [returned]
        if returned is None or isinstance(returned, str | Mapping) or not isinstance(returned, Iterable):
            raise self._wrong(f"returned {_kind(returned)}: yield rows, or return a list of them")
        return returned

    def _told(self, items: Iterable[Any]) -> Generator[Any, None, None]:
        """The same things; what goes wrong in the function is said in our words, and it is ended when we end."""
        iterator = iter(items)
        try:
            while True:
                try:
                    item = next(iterator)
                except StopIteration:
                    return
                except Exception as error:
                    if isinstance(error, IdempotentError) or is_airflows(error):
                        raise
                    reason = f"raised {described(error)} after {self._rows} rows"
                    raise PythonSourceFailedError(**self._where, reason=reason) from error
                yield item
        finally:
            with suppress(Exception):
                getattr(iterator, "close", bool)()

    def _wrong(self, reason: str) -> PythonSourceError:
        return PythonSourceError(**self._where, reason=reason)


def _take_one(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        yield item
        return


def _kind(value: Any) -> str:
    return "nothing" if value is None else "one dict" if isinstance(value, Mapping) else f"a {type(value).__name__}"

"""Reading landed parts into a COPY, and proving that they are what the manifest promises."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from contextlib import suppress
from typing import BinaryIO, Protocol, cast

from airflow_idempotent.core.manifest import CsvFormat, Manifest, Part
from airflow_idempotent.errors import BatchDamagedError


class PartOpener(Protocol):
    """Opens the raw bytes of a landed part; ``landing.store.BatchStore`` is one."""

    def open_part(self, manifest: Manifest, part: Part) -> BinaryIO: ...


class VerifiedReader(io.RawIOBase):
    """A part's content, unpacked, with the checksum and size of its raw bytes taken on the way.

    ``failure`` is why it could not be read: a driver keeps only the text of that.
    """

    def __init__(self, raw: BinaryIO, part: Part) -> None:
        self.failure: Exception | None = None
        self._tee = _Tee(raw)
        self._part = part
        self._content = cast(BinaryIO, gzip.GzipFile(fileobj=self._tee) if part.gzipped else self._tee)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            return self._content.read(size)
        except (EOFError, OSError, zlib.error) as error:
            self.failure = error
            raise

    def verify(self, rows: int | None = None) -> None:
        """Compare what was read, and the number of records found in it, with the manifest.

        Raises:
            BatchDamagedError: other bytes, or another number of records.
        """
        while self._tee.read(1 << 20):
            pass
        promised = (self._part.bytes, self._part.sha256, self._part.rows)
        found = (self._tee.bytes, self._tee.sha256.hexdigest(), self._part.rows if rows is None else rows)
        if found != promised:
            raise BatchDamagedError(file=self._part.name, expected=_describe(*promised), found=_describe(*found))


class _Tee(io.RawIOBase):
    """Passes bytes on, counting and hashing them."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.bytes = 0
        self.sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.bytes += len(data)
        self.sha256.update(data)
        return data


def _describe(size: int, sha256: str, rows: int) -> str:
    return f"{size:,} bytes, {rows:,} rows, sha256 {sha256[:16]}…"


def unreadable_column(content: VerifiedReader, line: int, part: Part, form: CsvFormat) -> str | None:
    """The column that holds bytes which are no text, in the record that ends on that line or after it."""
    text = io.TextIOWrapper(content, encoding="latin-1", newline="")  # type: ignore[type-var]  # one char per byte
    records = csv.reader(text, delimiter=form.delimiter, quotechar=form.quote)
    with suppress(csv.Error):
        found = next((record for record in records if records.line_num >= line), [])
        return next((name for name, value in zip(part.columns, found, strict=False) if _unreadable(value, form)), None)
    return None


def _unreadable(value: str, form: CsvFormat) -> bool:
    try:
        return "\0" in value.encode("latin-1").decode(form.encoding)
    except (LookupError, UnicodeDecodeError):
        return True

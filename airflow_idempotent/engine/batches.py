"""Reading landed parts into a COPY, and proving that they are what the manifest promises."""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Protocol, cast

from airflow_idempotent.core.manifest import CsvFormat, Manifest, Part
from airflow_idempotent.errors import BatchDamagedError
from airflow_idempotent.formats.compression import CHUNK, unpacked


class PartOpener(Protocol):
    """Opens the raw bytes of a landed part; ``landing.store.BatchStore`` is one."""

    def open_part(self, manifest: Manifest, part: Part) -> BinaryIO: ...


class VerifiedReader(io.RawIOBase):
    """A part's content, unpacked, with the checksum and size of its raw bytes taken on the way."""

    def __init__(self, raw: BinaryIO, part: Part) -> None:
        self._raw = raw
        self._tee = _Tee(raw)
        self._part = part
        self._content = unpacked(cast(BinaryIO, self._tee), part.compression)
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._content.read(size)

    def chunks(self) -> Generator[bytes, None, None]:
        """The content from here on, a chunk at a time."""
        while chunk := self.read(CHUNK):
            yield chunk

    @contextmanager
    def whole(self) -> Iterator[BinaryIO]:
        """The content as a file that can be read in any order, once it has been verified.

        What cannot be (it is compressed, or comes from where only streams do) is unpacked to a
        temporary file, which goes with the block.

        Raises:
            BatchDamagedError: it is not what the manifest promises.
        """
        if not self._part.compression and self._raw.seekable():
            self.verify()
            self._raw.seek(0)
            yield self._raw
            return
        with tempfile.TemporaryFile() as file:
            shutil.copyfileobj(self, file, CHUNK)
            self.verify()
            file.seek(0)
            yield cast(BinaryIO, file)

    def verify(self, rows: int | None = None) -> None:
        """Compare what was read, and the number of records found in it, with the manifest.

        Raises:
            BatchDamagedError: other bytes, or another number of records.
        """
        while not self._ended and self._tee.read(CHUNK):
            pass
        self._ended = True
        promised = (self._part.bytes, self._part.sha256, self._part.rows)
        found = (self._tee.bytes, self._tee.sha256.hexdigest(), self._part.rows if rows is None else rows)
        if found != promised:
            raise BatchDamagedError(file=self._part.name, expected=_describe(*promised), found=_describe(*found))


class ByteStream:
    """Chunks of bytes, read like a file. ``failure`` is why they ended early: a driver keeps only the text of that."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.failure: Exception | None = None
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        try:
            while not self._rest:
                self._rest = next(self._chunks)
        except StopIteration:
            return b""
        except Exception as error:
            self.failure = error
            raise
        size = len(self._rest) if size < 0 else size
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


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

"""Writes one part in one pass: its bytes as they come, their hash, the number of its records."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from airflow_idempotent.core.manifest import CsvFormat, Part
from airflow_idempotent.errors import BadFileError
from airflow_idempotent.landing.csv_records import CHUNK, CsvScan

GZIP_MAGIC = b"\x1f\x8b"


class Gunzip:
    """Unpacks a gzip file chunk by chunk, never more than a chunk at a time, all its members.

    Raises:
        BadFileError: the file is no gzip file, is damaged, or is cut.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._member = zlib.decompressobj(wbits=31)
        self._inside = False
        self._members = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The unpacked bytes that this chunk adds."""
        while chunk:
            if not self._inside:
                chunk = chunk.lstrip(b"\0") if self._members else chunk  # zeros may pad the end
                self._member, self._inside = zlib.decompressobj(wbits=31), bool(chunk)
                continue
            try:
                data = self._member.decompress(chunk, CHUNK)
            except zlib.error as error:
                raise self._bad(f"is not gzip as its name says, or is damaged ({error})") from None
            if data:
                yield data
            if self._member.eof:
                self._inside, self._members = False, self._members + 1
            chunk = self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def finish(self) -> None:
        """Make sure that the last member was whole."""
        if self._inside:
            raise self._bad("ends in the middle of its compressed data, a broken upload")

    def _bad(self, reason: str) -> BadFileError:
        return BadFileError(file=self._file, reason=reason)


class PartWriter:
    """Keeps what is written to it in ``target`` and learns all that a manifest says of it.

    ``progress`` is told after each chunk what this part holds so far, as (rows, bytes).
    Leaves ``target`` open: whoever made it makes it durable.

    Raises:
        BadFileError: see ``CsvScan`` and ``Gunzip``.
    """

    def __init__(
        self, target: IO[bytes], form: CsvFormat, *, file: str, gzipped: bool, progress: Callable[[int, int], None]
    ) -> None:
        self._target, self._file, self._progress = target, file, progress
        self._gunzip = Gunzip(file) if gzipped else None
        self._scan = CsvScan(form, file)
        self._hash = hashlib.sha256()
        self._bytes = 0

    def write(self, chunk: bytes) -> None:
        """Keep one chunk; all of it or an error."""
        if not self._bytes and not self._gunzip and chunk.startswith(GZIP_MAGIC):
            raise BadFileError(file=self._file, reason="is compressed by gzip, but its name does not end in '.gz'")
        for piece in self._gunzip.feed(chunk) if self._gunzip else (chunk,):
            self._scan.feed(piece)
        self._hash.update(chunk)
        rest = memoryview(chunk)
        while rest:
            rest = rest[self._target.write(rest) :]
        self._bytes += len(chunk)
        self._progress(self._scan.rows, self._bytes)

    def part(self, name: Callable[[str], str], *, source: str) -> Part:
        """What was written, as the manifest lists it; its name may depend on its hash."""
        if self._gunzip and self._bytes:
            self._gunzip.finish()
        rows = self._scan.finish()
        digest = self._hash.hexdigest()
        columns = self._scan.header.columns if self._scan.header else ()
        return Part(name(digest), self._bytes, rows, digest, columns, source)


class RowBuffer:
    """Gathers rows, which drivers hand over one by one, into chunks for a ``PartWriter``."""

    def __init__(self, writer: PartWriter) -> None:
        self._writer = writer
        self._rows: list[bytes] = []
        self._size = 0

    def write(self, row: bytes) -> int:
        """Take some bytes; they arrive with the chunk that they complete, or with ``flush``."""
        self._rows.append(row)
        self._size += len(row)
        if self._size >= CHUNK:
            self.flush()
        return len(row)

    def flush(self) -> None:
        """Hand over what is left."""
        self._writer.write(b"".join(self._rows))
        self._rows, self._size = [], 0

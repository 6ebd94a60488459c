"""Writes one part in one pass: its bytes as they come, their hash, the number of its records."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from airflow_idempotent.core.manifest import Format, Part
from airflow_idempotent.errors import BadFileError, ExtraMissingError
from airflow_idempotent.formats.compression import unpacker
from airflow_idempotent.formats.refused import PackageMissingError, RefusedError
from airflow_idempotent.landing.csv_records import CHUNK
from airflow_idempotent.landing.scans import scan_of


class PartWriter:
    """Keeps what is written to it in ``target`` and learns all that a manifest says of it.

    ``columns`` name those of a format that does not do so itself. ``progress`` is told after each
    chunk what this part holds so far, as (rows, bytes). Leaves ``target`` open: whoever made it makes
    it durable.

    Raises:
        BadFileError: the bytes are not what format and compression say (see ``landing.scans``).
        ExtraMissingError: the format needs a package that is not installed.
    """

    def __init__(
        self,
        target: IO[bytes],
        form: Format,
        *,
        file: str,
        compression: str = "",
        columns: Sequence[str] = (),
        progress: Callable[[int, int], None],
    ) -> None:
        self._target, self._file, self._progress = target, file, progress
        self._unpacker = unpacker(compression)
        self._scan = scan_of(form, file, columns)
        self._hash = hashlib.sha256()
        self._bytes = 0

    def write(self, chunk: bytes) -> None:
        """Keep one chunk; all of it or an error."""
        with self._told():
            for piece in self._unpacker.feed(chunk):
                self._scan.feed(piece)
        self._hash.update(chunk)
        rest = memoryview(chunk)
        while rest:
            rest = rest[self._target.write(rest) :]
        self._bytes += len(chunk)
        self._progress(self._scan.rows, self._bytes)

    def part(self, name: Callable[[str], str], *, source: str) -> Part:
        """What was written, as the manifest lists it; its name may depend on its hash."""
        with self._told():
            self._unpacker.finish()
            rows = self._scan.finish()
        digest = self._hash.hexdigest()
        return Part(name(digest), self._bytes, rows, digest, self._scan.columns, source)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Name the file in what formats refuse."""
        try:
            yield
        except PackageMissingError as error:
            raise ExtraMissingError(file=self._file, package=error.package, extra=error.extra) from None
        except RefusedError as error:
            where = f" (line {error.line})" if error.line else ""
            raise BadFileError(file=self._file, reason=f"{error.reason}{where}") from None


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

"""Reading landed parts into a COPY, and proving that they are what the manifest promises."""

from __future__ import annotations

import gzip
import hashlib
import io
from typing import BinaryIO, Protocol, cast

from airflow_idempotent.core.manifest import Manifest, Part
from airflow_idempotent.errors import BatchDamagedError


class PartOpener(Protocol):
    """Opens the raw bytes of a landed part; ``landing.store.BatchStore`` is one."""

    def open_part(self, manifest: Manifest, part: Part) -> BinaryIO: ...


class VerifiedReader(io.RawIOBase):
    """A part's content, unpacked, with the checksum and size of its raw bytes taken on the way."""

    def __init__(self, raw: BinaryIO, part: Part) -> None:
        self._tee = _Tee(raw)
        self._part = part
        self._content = cast(BinaryIO, gzip.GzipFile(fileobj=self._tee) if part.gzipped else self._tee)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._content.read(size)

    def verify(self, rows: int) -> None:
        """Compare what was read with the manifest.

        Raises:
            BatchDamagedError: other bytes, or another number of records.
        """
        while self._tee.read(1 << 20):
            pass
        found = (self._tee.bytes, self._tee.sha256.hexdigest(), rows)
        promised = (self._part.bytes, self._part.sha256, self._part.rows)
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

"""Unpacks gzip and zstd: chunk by chunk as bytes go by, or as a file. Never more than a chunk in memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import IO, Any, BinaryIO, Protocol, cast

from airflow_idempotent.core.manifest import COMPRESSIONS
from airflow_idempotent.formats.refused import RefusedError

CHUNK = 1 << 20
_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_CUT = "ends in the middle of its compressed data, a broken upload"


class Unpacker(Protocol):
    """Unpacks what it is fed."""

    def feed(self, chunk: bytes) -> Iterator[bytes]: ...
    def finish(self) -> None: ...


class Plain:
    """Gives back what it is fed, and refuses what is compressed."""

    def __init__(self) -> None:
        self._begun = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The chunk itself.

        Raises:
            RefusedError: the first one is the begin of a compressed file.
        """
        if chunk and not self._begun:
            self._begun = True
            for ending, kind in COMPRESSIONS.items():
                if chunk.startswith(_MAGIC[kind]):
                    raise RefusedError(f"is compressed by {kind}, but its name does not end in '{ending}'")
        yield chunk

    def finish(self) -> None:
        """Nothing can be missing."""


class Gunzip:
    """Unpacks a gzip file, all its members.

    Raises:
        RefusedError: the file is no gzip file, is damaged, or is cut.
    """

    def __init__(self) -> None:
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
                raise RefusedError(f"is not gzip as its name says, or is damaged ({error})") from None
            if data:
                yield data
            if self._member.eof:
                self._inside, self._members = False, self._members + 1
            chunk = self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def finish(self) -> None:
        """Make sure that the last member was whole."""
        if self._inside:
            raise RefusedError(_CUT)


class Unzstd:
    """Unpacks a zstd file, all its frames.

    Raises:
        RefusedError: the file is no zstd file, is damaged, or is cut.
    """

    def __init__(self) -> None:
        from backports import zstd

        self._zstd: Any = zstd
        self._frame: Any = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The unpacked bytes that this chunk adds."""
        while chunk:
            self._frame = self._frame or self._zstd.ZstdDecompressor()
            data = self._unpacked(chunk)
            while data:
                yield data
                data = b"" if self._frame.eof or self._frame.needs_input else self._unpacked(b"")
            chunk = self._frame.unused_data if self._frame.eof else b""
            self._frame = None if self._frame.eof else self._frame

    def _unpacked(self, chunk: bytes) -> bytes:
        try:
            return bytes(self._frame.decompress(chunk, CHUNK))
        except self._zstd.ZstdError as error:
            raise RefusedError(f"is not zstd as its name says, or is damaged ({error})") from None

    def finish(self) -> None:
        """Make sure that the last frame was whole."""
        if self._frame:
            raise RefusedError(_CUT)


def unpacker(compression: str) -> Unpacker:
    """What unpacks files of that compression (see ``core.manifest.compression_of``)."""
    match compression:
        case "gzip":
            return Gunzip()
        case "zstd":
            return Unzstd()
        case _:
            return Plain()


def unpacked(file: IO[bytes], compression: str) -> BinaryIO:
    """A file as it was before it was compressed, to be read from its begin; where it is damaged reading raises."""
    match compression:
        case "gzip":
            return cast(BinaryIO, gzip.GzipFile(fileobj=file))
        case "zstd":
            from backports import zstd

            return cast(BinaryIO, zstd.ZstdFile(file))
        case _:
            return cast(BinaryIO, file)

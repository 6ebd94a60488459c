"""Turns the bytes of a file into UTF-8 and refuses, with their place, those that are not of its encoding."""

from __future__ import annotations

import codecs
import re


class UndecodableError(ValueError):
    """Bytes that are not of the encoding; ``lines_before`` counts the line ends before them in the last chunk."""

    def __init__(self, text: str, lines_before: int) -> None:
        super().__init__(text)
        self.lines_before = lines_before


def codec_name(encoding: str) -> str | None:
    """Python's name of an encoding, also when it is written as PostgreSQL does; None when Python has no such."""
    plain = encoding.strip().lower().replace("-", "_")
    for spelling in (plain, re.sub(r"^win_?(?=\d)", "cp", plain), re.sub(r"^koi8_?(?=[ru]$)", "koi8_", plain)):
        try:
            return codecs.lookup(spelling).name
        except LookupError:
            continue
    return None


class Transcoder:
    """Takes a file's bytes in chunks cut anywhere and gives them back as UTF-8; UTF-8 itself passes as it is.

    Bytes of an encoding unknown to Python pass as they are, unchecked. ``position`` is the number of
    bytes taken so far.
    """

    def __init__(self, encoding: str) -> None:
        name = codec_name(encoding)
        self._encoding = encoding
        self._utf8 = name in ("utf-8", "utf-8-sig")
        self._decoder = codecs.getincrementaldecoder("utf-8" if self._utf8 else name)() if name else None
        self._pending = False
        self.position = 0

    def feed(self, chunk: bytes, *, last: bool = False) -> bytes:
        """The chunk in UTF-8.

        Raises:
            UndecodableError: some of its bytes are not of the encoding, or the last character is cut.
        """
        if self._decoder is None or (self._utf8 and not self._pending and chunk.isascii()):
            self.position += len(chunk)
            return chunk
        waiting = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(chunk, last)
        except UnicodeDecodeError as error:
            raise self._undecodable(chunk, error, waiting) from None
        self._pending = bool(self._decoder.getstate()[0])
        self.position += len(chunk)
        return chunk if self._utf8 else text.encode("utf-8", "surrogatepass")

    def _undecodable(self, chunk: bytes, error: UnicodeDecodeError, waiting: int) -> UndecodableError:
        # error.start counts from the bytes that the decoder still held of earlier chunks.
        place = max(0, error.start - waiting)
        wrong = error.object[error.start : error.end].hex(" ")
        where = self.position - waiting + error.start
        return UndecodableError(
            f"holds bytes that are not {self._encoding}: {wrong} at byte {where}", chunk.count(b"\n", 0, place)
        )

"""Reads CSV as PostgreSQL's COPY does, by whole chunks: header, number of records, wrong bytes.

A quote anywhere switches quoting, a line end outside quotes ends a record, an empty
line is a record, and the first line end of a file decides which kind ends its records.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import IO

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.errors import BadFileError
from airflow_idempotent.landing.encoding import Transcoder, UndecodableError

CHUNK = 1 << 20
MAX_HEADER = CHUNK
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Header:
    r"""The first record of a file. ``size`` is its length in bytes of UTF-8, byte order mark and line end included.

    ``line_end`` is what ends it: ``\n``, ``\r\n`` or ``\r``; empty when the file ends first.
    Without a header in the format there are no ``columns``, and ``size`` is that of the mark.
    """

    columns: tuple[str, ...]
    size: int
    line_end: bytes


class RecordCounter:
    """Counts the records of a CSV in UTF-8, fed in chunks cut anywhere; a header is not counted.

    ``lines`` counts line ends wherever they are. What PostgreSQL would refuse (mixed line ends)
    is counted somehow: this is no judge of content.

    Raises:
        ValueError: the quote is not one ASCII character.
    """

    def __init__(self, form: CsvFormat) -> None:
        self._quote = form.quote.encode()
        if len(self._quote) != 1:
            raise ValueError(f"the quote of a CSV is one ASCII character, not {form.quote!r}")
        self._header = form.header
        self._record = _record_pattern(self._quote)
        self._line_end = b""
        self._held = b""
        self._quoted = False
        self._ended = True
        self._records = 0
        self.lines = 0

    @property
    def rows(self) -> int:
        """Records seen so far, one that is not ended yet included."""
        started = 0 if self._ended and not self._held else 1
        return max(0, self._records + started - self._header)

    @property
    def in_quotes(self) -> bool:
        """Whether what was fed so far ends inside a quoted field."""
        return self._quoted

    def feed(self, chunk: bytes) -> None:
        """Count what this chunk adds."""
        if self._held:
            chunk, self._held = self._held + chunk, b""
        if not self._line_end:
            self._line_end = self._first_line_end(chunk)
        if not self._line_end and chunk.endswith(b"\r"):
            chunk, self._held = chunk[:-1], b"\r"  # "\r\n" may have been cut in two
        if chunk:
            self._count(chunk)

    def finish(self) -> int:
        """The number of rows, now that all has been fed."""
        if self._held:
            self._line_end = self._line_end or (b"" if self._quoted else b"\r")
            held, self._held = self._held, b""
            self._count(held)
        return self.rows

    def _first_line_end(self, chunk: bytes) -> bytes:
        start = chunk.find(self._quote) + 1 if self._quoted else 0
        found = self._record.match(chunk, start) if start or not self._quoted else None
        return found[1] if found and not (found[1] == b"\r" and found.end() == len(chunk)) else b""

    def _count(self, chunk: bytes) -> None:
        quote, end = self._quote, self._line_end[-1:] or b"\n"
        if quote not in chunk:
            lines = chunk.count(end)
            self._records += 0 if self._quoted else lines
        else:
            # Only quotes and line ends matter. Two quotes with nothing between them cancel out.
            kept = chunk.translate(None, _all_but(quote + end)).replace(quote * 2, b"")
            pieces = kept.split(quote)
            lines = kept.count(end)
            self._records += b"".join(pieces[1::2] if self._quoted else pieces[::2]).count(end)
            self._quoted ^= len(pieces) % 2 == 0
        self.lines += lines
        self._ended = not self._quoted and chunk.endswith(end)


class CsvScan:
    """Watches a CSV go by in chunks of its own encoding: checks bytes, reads the header, counts rows.

    ``columns`` are those of a file without a header.

    Raises:
        BadFileError: bytes of another encoding, a header that names no columns or one twice, a file
            that is empty or ends inside quotes. ``file`` is named in it.
    """

    def __init__(self, form: CsvFormat, file: str, columns: Sequence[str] = ()) -> None:
        self._format, self._file = form, file
        self._named = tuple(columns)
        self._transcoder = Transcoder(form.encoding)
        self._counter = RecordCounter(form)
        self._head = b""
        self.header: Header | None = None

    @property
    def rows(self) -> int:
        return self._counter.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in the header, once it has gone by, or those that were given for it."""
        return (self.header.columns if self.header else ()) or self._named

    def feed(self, chunk: bytes) -> None:
        """Look at the next chunk."""
        self._take(chunk, last=False)

    def finish(self) -> int:
        """The number of rows, now that all has been fed."""
        self._take(b"", last=True)
        if not self._transcoder.position and self._format.header:
            raise self._bad(
                "is empty (0 bytes), a broken upload", "A partition without rows is a file with a header only."
            )
        rows = self._counter.finish()
        if self._counter.in_quotes:
            raise self._bad(
                "ends inside a quoted field", "Deliver the whole file again, or set 'quote' to what it uses."
            )
        return rows

    def _take(self, chunk: bytes, *, last: bool) -> None:
        try:
            data = self._transcoder.feed(chunk, last=last)
        except UndecodableError as error:
            line = self._counter.lines + error.lines_before + 1
            raise self._bad(f"{error} (line {line})", "Set 'encoding' to what the file uses, e.g. latin1.") from None
        if self.header is None and (data or self._head):
            self._head += data
            if (header := self._read_header(last=last)) is not None:
                self.header, self._head = header, b""
        self._counter.feed(data)

    def _read_header(self, *, last: bool) -> Header | None:
        mark = len(BOM) if self._head.startswith(BOM) else 0
        if not self._format.header:
            return Header((), mark, b"") if last or len(self._head) >= len(BOM) else None
        found = _record_pattern(self._format.quote.encode()).match(self._head)
        if not last and (not found or found.end() == len(self._head)):  # "\r" may wait for its "\n"
            if len(self._head) > MAX_HEADER:
                raise self._bad(f"has no line end outside quotes in its first {MAX_HEADER} bytes")
            return None
        line_end, end = (found[1], found.start(1)) if found else (b"", len(self._head))
        return Header(self._columns(self._head[mark:end]), end + len(line_end), line_end)

    def _columns(self, record: bytes) -> tuple[str, ...]:
        form = self._format
        try:
            text = io.StringIO(record.decode(), newline="")
            columns = next(csv.reader(text, delimiter=form.delimiter, quotechar=form.quote, strict=True), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise self._bad(f"has a header that cannot be read ({error})") from None
        if not any(columns):
            raise self._bad("has an empty first line where its header should be")
        if unnamed := [str(place) for place, name in enumerate(columns, 1) if not name or "\0" in name]:
            raise self._bad(f"has a header without a name for column {', '.join(unnamed)}")
        if twice := [repr(name) for name, times in Counter(columns).items() if times > 1]:
            raise self._bad(f"has more than one column {', '.join(twice)}")
        return tuple(columns)

    def _bad(self, reason: str, hint: str = "") -> BadFileError:
        return BadFileError(file=self._file, reason=reason, hint=f"{hint} Then clear this task." if hint else "")


def read_header(stream: IO[bytes], form: CsvFormat, *, file: str = "the file") -> Header:
    """The header of a CSV, from a stream of its uncompressed bytes; reads little more than the header.

    Raises:
        BadFileError: as for ``CsvScan``.
    """
    scan = CsvScan(form, file)
    while scan.header is None and (chunk := stream.read(CHUNK >> 4)):
        scan.feed(chunk)
    if scan.header is None:
        scan.finish()
    assert scan.header is not None
    return scan.header


@lru_cache
def _record_pattern(quote: bytes) -> re.Pattern[bytes]:
    """One record and, as group 1, the line end that ends it. Possessive, so that no match costs one pass."""
    mark = re.escape(quote)
    plain = rb"[^%s\r\n]*+" % mark
    return re.compile(rb"%s(?:%s[^%s]*+%s%s)*+(\r\n|\r|\n)" % (plain, mark, mark, mark, plain))


@lru_cache
def _all_but(kept: bytes) -> bytes:
    return bytes(byte for byte in range(256) if byte not in kept)

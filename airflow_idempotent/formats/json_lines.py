"""JSON Lines: one object a line. Numbers keep their digits, since nothing here takes them for numbers.

Of a key that a line has twice the last one counts, as in PostgreSQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_idempotent.formats.refused import RefusedError
from airflow_idempotent.formats.wire import CHUNK, array_text, field

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")
_JSON_TYPES = ("json", "jsonb")


def _no_number(text: str) -> Any:
    raise ValueError(f'{text} is no number of JSON, write it as text: "{text}"')


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_no_number)
# The two functions every JSON decoder is made of: a text, and any value, each with the place where it ends.
_scan_text = json.decoder.scanstring  # type: ignore[attr-defined]
_scan_value = _DECODER.scan_once  # type: ignore[attr-defined]


class LineSplitter:
    """Cuts chunks into lines: (number, line), counted from 1; blank ones are left out. A byte order mark is dropped."""

    def __init__(self) -> None:
        self._number = 0
        self._held: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes]]:
        """The lines that end in this chunk."""
        first, *rest = chunk.split(b"\n")
        self._held.append(first)
        for line in rest:
            yield from self.finish()
            self._held = [line]

    def finish(self) -> Iterator[tuple[int, bytes]]:
        """The last line, which may have no end."""
        line = b"".join(self._held)
        self._number += 1
        self._held = []
        if self._number == 1:
            line = line.removeprefix(_BOM)
        if line and not line.isspace():
            yield self._number, line


def lines_of(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of a whole file; see ``LineSplitter``."""
    splitter = LineSplitter()
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.finish()


def parsed(number: int, line: bytes) -> tuple[str, dict[str, Any]]:
    """A line as text, and the object it is. Numbers are texts, their digits as written.

    Raises:
        RefusedError: it is not one JSON object, or not UTF-8.
    """
    try:
        text = line.decode().strip(" \t\r\n")
        found = _DECODER.decode(text)
    except UnicodeDecodeError as error:
        wrong = error.object[error.start : error.end].hex(" ")
        raise RefusedError(f"holds bytes that are not UTF-8: {wrong}", line=number) from None
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or str(error)
        place = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        raise RefusedError(f"is not JSON ({reason}{place})", line=number) from None
    if type(found) is not dict:
        raise RefusedError("is not a JSON object", line=number)
    return text, found


def json_lines_csv(
    chunks: Iterable[bytes], columns: Sequence[str], types: Mapping[str, str] | None = None
) -> Generator[bytes, None, None]:
    """The rows of a file as CSV (``core.manifest.WIRE``), some at a time.

    ``types`` are the columns' types in the database: a json or jsonb column gets the JSON as it is
    written, an array column the array that a list stands for, any other text.

    Raises:
        RefusedError: a line that ``parsed`` refuses, a key beyond ``columns``, text that PostgreSQL cannot hold.
    """
    kinds = [(name, (types or {}).get(name, "")) for name in columns]
    rows: list[bytes] = []
    size = 0
    for number, line in lines_of(chunks):
        rows.append(_row(number, line, kinds))
        size += len(rows[-1])
        if size >= CHUNK:
            yield b"".join(rows)
            rows, size = [], 0
    yield b"".join(rows)


def _row(number: int, line: bytes, kinds: Sequence[tuple[str, str]]) -> bytes:
    text, record = parsed(number, line)
    raw: dict[str, str] | None = None
    fields: list[str] = []
    known = 0
    for name, kind in kinds:
        value = record.get(name)
        known += name in record
        if value is None:
            fields.append("")
        elif kind in _JSON_TYPES or type(value) in (dict, list):
            raw = raw_values(text) if raw is None else raw
            fields.append(field(array_of(raw[name], kind) if kind.endswith("[]") else raw[name]))
        else:
            fields.append(field(value if type(value) is str else "true" if value else "false"))
    if known < len(record):
        strange = next(name for name in record if name not in dict(kinds))
        raise RefusedError("a key that the manifest does not list", line=number, column=strange)
    try:
        row = ",".join(fields)
        if "\0" not in row:
            return (row + "\n").encode()
    except UnicodeEncodeError:
        pass
    name, what = next(_unstorable(fields, kinds))
    raise RefusedError(f"holds {what}, which PostgreSQL cannot store", line=number, column=name)


def _unstorable(fields: Sequence[str], kinds: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for value, (name, _) in zip(fields, kinds, strict=True):
        if "\0" in value:
            yield name, r"the character \u0000"
        if re.search("[\ud800-\udfff]", value):
            yield name, "half of a surrogate pair"


def array_of(raw: str, kind: str) -> str:
    """A JSON list as PostgreSQL writes the array of that type; what is no list stays as it is."""
    return array_text(_items(raw, kind[:-2] in _JSON_TYPES)) if raw.startswith("[") else raw


def _items(raw: str, as_json: bool) -> list[Any]:
    items: list[Any] = []
    for item in raw_items(raw):
        if item == "null":
            items.append(None)
        elif as_json:
            items.append(item)
        elif item[0] == "[":
            items.append(_items(item, as_json))
        else:
            items.append(json.loads(item) if item[0] == '"' else item)
    return items


def raw_values(text: str) -> dict[str, str]:
    """Each key of a JSON object with its value as it is written. The text must be a JSON object."""
    found: dict[str, str] = {}
    place = _skip(text, 1)
    while text[place] != "}":
        name, place = _scan_text(text, _skip(text, place) + 1, True)
        start = _skip(text, _skip(text, place) + 1)
        place = _scan_value(text, start)[1]
        found[name] = text[start:place]
        place = _skip(text, place)
        place += text[place] == ","
    return found


def raw_items(text: str) -> list[str]:
    """The items of a JSON list as they are written. The text must be a JSON list."""
    found: list[str] = []
    place = _skip(text, 1)
    while text[place] != "]":
        start = _skip(text, place)
        place = _scan_value(text, start)[1]
        found.append(text[start:place])
        place = _skip(text, place)
        place += text[place] == ","
    return found


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place

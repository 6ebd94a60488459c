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
_SPACE = r"[ \t\r\n]*+"
_TEXT = r'"(?:[^"\\]|\\.)*+"'
# One value that holds no other, and what follows it; no group where a list or an object begins.
_SCALAR = rf"(?:({_TEXT}|[^ \t\r\n,:\[\]{{}}\"]++){_SPACE},?)?"
_MEMBER = re.compile(rf'{_SPACE}"((?:[^"\\]|\\.)*+)"{_SPACE}:{_SPACE}{_SCALAR}')
_ITEM = re.compile(_SPACE + _SCALAR)
_COMMA = re.compile(f"{_SPACE},?")
_JSON_TYPES = ("json", "jsonb")


def _no_number(text: str) -> Any:
    raise ValueError(f'{text} is no number of JSON, write it as text: "{text}"')


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_no_number)
_scan_value = _DECODER.scan_once  # type: ignore[attr-defined]  # (value, where it ends)


class LineSplitter:
    """Cuts chunks into lines: (number, line), counted from 1; blank ones are left out. A byte order mark is dropped."""

    def __init__(self) -> None:
        self._number = 0
        self._held: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes]]:
        """The lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        if ended:
            ended[0] = self._whole(ended[0])
            self._held = []
        self._held.append(rest)
        for line in ended:
            self._number += 1
            if line and not line.isspace():
                yield self._number, line

    def finish(self) -> Iterator[tuple[int, bytes]]:
        """The last line, which may have no end."""
        line = self._whole(b"")
        if line and not line.isspace():
            yield self._number + 1, line

    def _whole(self, end: bytes) -> bytes:
        line = b"".join([*self._held, end])
        return line if self._number else line.removeprefix(_BOM)


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
    kinds = {name: (types or {}).get(name, "") for name in columns}
    rows: list[bytes] = []
    size = 0
    for number, line in lines_of(chunks):
        rows.append(_row(number, line, kinds))
        size += len(rows[-1])
        if size >= CHUNK:
            yield b"".join(rows)
            rows, size = [], 0
    yield b"".join(rows)


def _row(number: int, line: bytes, kinds: Mapping[str, str]) -> bytes:
    text, record = parsed(number, line)
    if not record.keys() <= kinds.keys():
        strange = next(name for name in record if name not in kinds)
        raise RefusedError("a key that the manifest does not list", line=number, column=strange)
    raw: dict[str, str] | None = None
    fields: list[str] = []
    for name, kind in kinds.items():
        value = record.get(name)
        if value is None:
            fields.append("")
        elif kind in _JSON_TYPES or type(value) in (dict, list):
            raw = raw_values(text) if raw is None else raw
            fields.append(field(array_of(raw[name], kind) if kind.endswith("[]") else raw[name]))
        elif type(value) is str:
            fields.append(field(value) if '"' in value else f'"{value}"')
        else:
            fields.append('"true"' if value else '"false"')
    row = ",".join(fields)
    try:
        if "\0" not in row:
            return (row + "\n").encode()
    except UnicodeEncodeError:
        pass
    name, what = next(_unstorable(fields, kinds))
    raise RefusedError(f"holds {what}, which PostgreSQL cannot store", line=number, column=name)


def _unstorable(fields: Sequence[str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for value, name in zip(fields, names, strict=True):
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
    place = 1
    while member := _MEMBER.match(text, place):
        name, raw, place = member[1], member[2], member.end()
        if raw is None:  # a list or an object: the match ends where it begins
            raw, place = _nested(text, place)
        found[json.loads(f'"{name}"') if "\\" in name else name] = raw
    return found


def raw_items(text: str) -> list[str]:
    """The items of a JSON list as they are written. The text must be a JSON list."""
    found: list[str] = []
    place = 1
    while item := _ITEM.match(text, place):
        raw, place = item[1], item.end()
        if raw is None:
            if text[place] == "]":
                break
            raw, place = _nested(text, place)
        found.append(raw)
    return found


def _nested(text: str, start: int) -> tuple[str, int]:
    """The list or object that begins there, as it is written, and where what follows it begins."""
    end = _scan_value(text, start)[1]
    following = _COMMA.match(text, end)
    return text[start:end], following.end() if following else end

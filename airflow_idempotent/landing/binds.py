"""Finds ``:name`` in SQL where it is a bind: not in strings, quoted names, comments, nor in ``::`` casts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

# The order matters: the first alternative that matches at a place wins.
_TOKEN = re.compile(
    r"""
      (?P<literal>
          (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*'      # E'it\'s'
        | '(?:[^']|'')*'                          # 'it''s'
        | "(?:[^"]|"")*"                          # "Name"
        | `[^`]*`                                 # `name`, of MySQL
        | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$    # $$text$$
      )
    | (?P<comment> --[^\n]* | /\* )
    | (?P<cast> ::|:= )
    | :(?P<bind>[^\W\d]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of SQL. ``kind`` is ``code``, ``literal``, ``comment`` or ``bind`` (then ``text`` is the name)."""

    kind: str
    text: str


def split_sql(sql: str) -> tuple[Piece, ...]:
    """The SQL in pieces; put together again they are what was written. Comments nest as in PostgreSQL."""
    pieces: list[Piece] = []
    start = position = 0
    while found := _TOKEN.search(sql, position):
        position = _comment_end(sql, found.end()) if found[0] == "/*" else found.end()
        if found["cast"]:
            continue
        if found.start() > start:
            pieces.append(Piece("code", sql[start : found.start()]))
        kind = "bind" if found["bind"] else "comment" if found["comment"] else "literal"
        pieces.append(Piece(kind, found["bind"] or sql[found.start() : position]))
        start = position
    return (*pieces, Piece("code", sql[start:])) if start < len(sql) else tuple(pieces)


def bind_names(pieces: tuple[Piece, ...]) -> tuple[str, ...]:
    """The names of the binds, each once, in the order in which they first appear."""
    return tuple(dict.fromkeys(piece.text for piece in pieces if piece.kind == "bind"))


def without_semicolon(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The same statement without the semicolons that end it."""
    tail = len(list(takewhile(lambda piece: piece.kind == "comment" or not piece.text.strip(" \t\r\n;"), pieces[::-1])))
    kept, rest = pieces[: len(pieces) - tail], pieces[len(pieces) - tail :]
    if kept and kept[-1].kind == "code":
        kept = (*kept[:-1], Piece("code", kept[-1].text.rstrip(" \t\r\n;")))
    return (*kept, *(piece for piece in rest if piece.kind == "comment"))


def ends_ordered(pieces: tuple[Piece, ...]) -> bool:
    """Whether the statement as a whole has an ORDER BY, not only something in brackets inside it."""
    depth, outside = 0, []
    for char in "".join(piece.text if piece.kind == "code" else " " for piece in pieces):
        depth += (char == "(") - (char == ")")
        outside.append(char if depth == 0 else " ")
    return bool(re.search(r"\border\s+by\b", "".join(outside), re.IGNORECASE))


def fill(pieces: tuple[Piece, ...], bind: Callable[[str], str], *, escape: Callable[[str], str] = str) -> str:
    """The statement with each bind replaced; ``escape`` is applied to all other text."""
    return "".join(bind(piece.text) if piece.kind == "bind" else escape(piece.text) for piece in pieces)


def _comment_end(sql: str, position: int) -> int:
    depth = 1
    while depth and (edge := _COMMENT_EDGE.search(sql, position)):
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position if not depth else len(sql)

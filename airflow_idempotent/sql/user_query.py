"""SQL that a user wrote: read as a tree, so that it is known what it does, and sent as it was written.

The tree tells columns, binds and tables. The text goes to the server word for word, since a tree written
out again may say something slightly else; only its binds are replaced, at the places where the parser
found them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from airflow_idempotent.core.relation import Relation

_WRITES = (
    exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.Copy, exp.Into, exp.Command,
)  # fmt: skip


class QueryTextError(ValueError):
    """Text that is no query we can run. ``line`` is counted from 1; 0 when no line is to blame."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@lru_cache(maxsize=64)
def tokens_of(sql: str) -> tuple[Token, ...]:
    """The words of a text, without comments and the semicolons that end it.

    Raises:
        QueryTextError: a string or comment does not end.
    """
    try:
        tokens = Postgres().tokenize(sql)
    except SqlglotError as error:
        raise QueryTextError(f"not SQL: {str(error).splitlines()[0]}") from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return tuple(tokens)


@lru_cache(maxsize=64)
def parsed(sql: str) -> exp.Query:
    """The tree of exactly one query that only reads.

    Raises:
        QueryTextError: it is anything else.
    """
    tokens = tokens_of(sql)
    first = next((token for token in tokens if token.token_type is not TokenType.L_PAREN), None)
    if first is None or first.token_type not in (TokenType.SELECT, TokenType.WITH):
        raise QueryTextError("not a query: write one SELECT, WITH is allowed", first.line if first else 0)
    for token in tokens:
        if token.token_type in (TokenType.L_BRACE, TokenType.BLOCK_START):
            raise QueryTextError("templates cannot be looked through: write binds like :start and :key", token.line)
        if token.token_type is TokenType.SEMICOLON:
            raise QueryTextError("more than one statement: write one SELECT, WITH is allowed", token.line)
    try:
        trees = Postgres().parse(sql)
    except SqlglotError as error:
        found: Any = (getattr(error, "errors", None) or [{}])[0]
        near = f" near {found['highlight']!r}" if found.get("highlight") else ""
        raise QueryTextError(f"not SQL{near}: {found.get('description') or error}", found.get("line") or 0) from None
    tree = trees[0] if trees else None
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise QueryTextError("not a query: write one SELECT, WITH is allowed", first.line)
    if write := tree.find(*_WRITES):
        word = type(write).__name__.upper()
        raise QueryTextError(f"{word} is not allowed: it only reads, and its rows are written for it", line_of(write))
    if lock := tree.find(exp.Lock):
        raise QueryTextError("FOR UPDATE and the like are not allowed: it only reads", line_of(lock))
    return tree


def line_of(node: exp.Expr) -> int:
    """The line a node begins on, as far as the parser says; 0 when it does not."""
    lines = [int(found.meta["line"]) for found in node.walk() if found.meta.get("line")]
    above = node.parent
    while not lines and above is not None:
        lines = [int(found.meta["line"]) for found in above.walk() if found.meta.get("line")]
        above = above.parent
    return min(lines, default=0)


def stored(name: exp.Identifier) -> str:
    """An identifier as PostgreSQL stores it: without double quotes it is in lower case."""
    text: str = name.this
    return text if name.args.get("quoted") else text.lower()


def select_list(tree: exp.Query) -> list[tuple[str | None, exp.Expr]]:
    """The columns of the result, by name; None where the query gives none that we know."""
    first: Any = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    return [(_name(item), item) for item in first.expressions]


def _name(item: exp.Expr) -> str | None:
    match item:
        case exp.Alias(args={"alias": exp.Identifier() as alias}):
            return stored(alias)
        case exp.Column(this=exp.Identifier() as name):
            return stored(name)
        case _:
            return None


def columns_of(sql: str) -> tuple[str, ...]:
    """The names of the result's columns, those that have one.

    Raises:
        QueryTextError: as for ``parsed``.
    """
    return tuple(name for name, _ in select_list(parsed(sql)) if name)


def placeholders(tree: exp.Query) -> list[exp.Placeholder]:
    """The binds of a query, in the form of the parser."""
    return list(tree.find_all(exp.Placeholder))


def binds_of(sql: str) -> tuple[str, ...]:
    """The names of the binds that a query uses, sorted.

    Raises:
        QueryTextError: as for ``parsed``.
    """
    return tuple(sorted({item.name for item in placeholders(parsed(sql)) if isinstance(item.this, str)}))


def tables_of(sql: str) -> tuple[Relation, ...]:
    """The tables a query reads, sorted; what WITH names is none.

    Raises:
        QueryTextError: as for ``parsed``.
    """
    from sqlglot.optimizer.scope import traverse_scope

    found = set()
    for scope in traverse_scope(parsed(sql).copy()):
        for source in scope.sources.values():
            if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
                schema = source.args.get("db")
                found.add(Relation(stored(schema) if schema else "public", stored(source.this)))
    return tuple(sorted(found))


def one_line(sql: str) -> str:
    """The query on one line, without comments, for people.

    Raises:
        QueryTextError: a string or comment does not end.
    """
    words, last = [], None
    for token in tokens_of(sql):
        words += [" " if last is not None and token.start > last + 1 else "", sql[token.start : token.end + 1]]
        last = token.end
    return "".join(words)


def bind_places(sql: str) -> list[tuple[int, int, str]]:
    """Where the binds stand in the text: (start, end, name), in order.

    Raises:
        QueryTextError: as for ``parsed``; or a colon may mean a bind or a slice.
    """
    tokens, known = tokens_of(sql), set(binds_of(sql))
    places = [
        (colon.start, name.end + 1, name.text)
        for colon, name in pairwise(tokens)
        if colon.token_type is TokenType.COLON and name.start == colon.end + 1 and name.text in known
    ]
    if len(places) != len(placeholders(parsed(sql))):
        raise QueryTextError("a colon may be a bind or a slice: write [1 : n] in an array slice")
    return places


def text_of(sql: str, bind: Callable[[str], str], *, escape: Callable[[str], str] = str) -> str:
    """The query as it was written, without the semicolon that ends it, each bind replaced.

    ``escape`` is applied to all other text.

    Raises:
        QueryTextError: as for ``bind_places``.
    """
    tokens = tokens_of(sql)
    end = tokens[-1].end + 1
    pieces, position = [], tokens[0].start
    for start, stop, name in bind_places(sql):
        pieces += [escape(sql[position:start]), bind(name)]
        position = stop
    return "".join([*pieces, escape(sql[position:end])])

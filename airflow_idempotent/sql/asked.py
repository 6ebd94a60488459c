"""Trees with values: as a statement for the driver, or as text that anybody can run in psql."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from airflow_idempotent.checks.condition import UserSql
from airflow_idempotent.checks.facts import Facts
from airflow_idempotent.sql.dialects.postgres import Verbatim, Warehouse
from airflow_idempotent.sql.statement import Statement, data_type, doubled
from airflow_idempotent.sql.user_query import parsed, text_of, tokens_of

USER_BINDS = ("start", "end", "cutoff_ts", "key")
"""What a user's query in a check may ask for, written ``:start``; values are bound, never text."""


def user_binds(facts: Facts) -> dict[str, Any]:
    """Their values; instants as such, however the partition column compares them."""
    partition = facts.partition
    return {"start": partition.start, "end": partition.end, "cutoff_ts": facts.cutoff, "key": partition.key}


def asked(tree: exp.Expr, binds: Mapping[str, Any], facts: Facts | None = None) -> Statement:
    """The statement a tree stands for, with only those values that it uses."""
    users: list[str] = []

    def bound(name: str) -> str:
        users.append(name)
        return f"%(user_{name})s"

    names = {found.name for found in tree.find_all(exp.Placeholder)}
    any_bind = bool(names) or any(_has_binds(found) for found in tree.find_all(UserSql))
    escape = doubled if any_bind else str
    spoken = _spoken(tree, bound, escape)
    if any_bind:
        for found in spoken.find_all(exp.Identifier, exp.Literal):
            found.set("this", doubled(found.name))
    values = {name: binds[name] for name in sorted(names) if name in binds}
    known = user_binds(facts) if facts else {}
    values |= {f"user_{name}": known[name] for name in users if name in known}
    return Statement(spoken.sql(dialect=Warehouse, comments=False), values, spoken)


def shown(tree: exp.Expr, binds: Mapping[str, Any], facts: Facts) -> str:
    """The same as text for people, every value written out as a literal."""
    known = user_binds(facts)
    spoken = _spoken(tree, lambda name: literal(known.get(name)).sql(dialect=Warehouse), str)
    spoken = spoken.transform(lambda node: literal(binds.get(node.name)) if isinstance(node, exp.Placeholder) else node)
    return spoken.sql(dialect=Warehouse, comments=False) + ";"


def literal(value: Any) -> exp.Expr:
    """A value as SQL, for people."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | float() | Decimal() if value == value and abs(value) != float("inf"):
            return exp.Literal.number(str(value)) if value >= 0 else exp.Neg(this=exp.Literal.number(str(-value)))
        case datetime():
            kind = "timestamp with time zone" if value.tzinfo else "timestamp"
            return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), data_type(kind))
        case date():
            return exp.cast(exp.Literal.string(value.isoformat()), data_type("date"))
        case list() | tuple():
            return exp.Array(expressions=[literal(item) for item in value])
        case _:
            return exp.Literal.string(str(value))


def _has_binds(node: UserSql) -> bool:
    return bool(node.args.get("is_query")) and parsed(node.this).find(exp.Placeholder) is not None


def _spoken(tree: exp.Expr, bind: Callable[[str], str], escape: Callable[[str], str]) -> exp.Expr:
    """The tree with the user's SQL in it word for word."""

    def verbatim(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, UserSql):
            return node
        if _has_binds(node):
            return Verbatim(this=text_of(node.this, bind, escape=escape))
        tokens = tokens_of(node.this)
        return Verbatim(this=escape(node.this[tokens[0].start : tokens[-1].end + 1]))

    return tree.copy().transform(verbatim)

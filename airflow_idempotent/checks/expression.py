"""An aggregate in the user's own SQL: read as a tree, so that it is known to be one number of many rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError

_GATHERING = (exp.AggFunc, exp.WithinGroup, exp.Filter)


@lru_cache(maxsize=256)
def parsed_aggregate(text: str) -> exp.Expr:
    """The tree of one aggregate expression.

    Raises:
        ValueError: it is anything else.
    """
    try:
        trees = Postgres().parse(f"SELECT (\n{text}\n)")
    except SqlglotError as error:
        found: Any = (getattr(error, "errors", None) or [{}])[0]
        near = f" near {found['highlight']!r}" if found.get("highlight") else ""
        raise ValueError(f"not an SQL expression{near}: {text!r}") from None
    tree = trees[0] if len(trees) == 1 else None
    items = tree.expressions if isinstance(tree, exp.Select) else []
    parts = {name for name, value in tree.args.items() if value} - {"kind"} if tree else set()
    if len(items) != 1 or parts != {"expressions"} or not isinstance(items[0], exp.Paren):
        raise ValueError(f"not one SQL expression: {text!r}, write it like 'sum(amount)'")
    found_tree: exp.Expr = items[0].this
    if problem := _problem(found_tree):
        raise ValueError(f"{problem}: {text!r}")
    return found_tree


def columns_of_aggregate(text: str) -> tuple[str, ...]:
    """The columns that it looks at, as PostgreSQL stores their names.

    Raises:
        ValueError: it is no aggregate.
    """
    names = (found.this for found in parsed_aggregate(text).find_all(exp.Column))
    return tuple(dict.fromkeys(str(name.this if name.args.get("quoted") else name.this.lower()) for name in names))


def as_number(text: str) -> exp.Expr:
    """The aggregate as a number that keeps all its digits.

    Raises:
        ValueError: it is no aggregate.
    """
    return exp.cast(exp.Paren(this=parsed_aggregate(text).copy()), "numeric")


def _problem(tree: exp.Expr) -> str:
    """Why it is not one number of many rows; empty when it is."""
    if tree.find(exp.Query, exp.Subquery):
        return "an aggregate of the partition's rows cannot query, write a custom_sql check"
    if tree.find(exp.Window):
        return "a window function has a value for every row, not one for all"
    if bind := tree.find(exp.Placeholder, exp.Parameter):
        return f"an aggregate takes no binds ({bind.sql('postgres')})"
    if not tree.find(exp.AggFunc):
        return "no aggregate, write it like 'sum(amount)'"
    for column in tree.find_all(exp.Column):
        if column.table:
            return f"name columns without their table ({column.sql('postgres')})"
        if not isinstance(column.this, exp.Identifier) or not column.find_ancestor(*_GATHERING):
            return f"column {column.name!r} stands outside any aggregate that we know"
    return ""

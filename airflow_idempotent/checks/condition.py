"""A condition in the user's own SQL: read as a tree, so that it is known what it does, and sent as it was written."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError


class UserSql(exp.Expression):
    """SQL of a user, word for word: ``this`` is the text. Only with ``is_query`` it may hold binds like ``:start``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "is_query": False}


@lru_cache(maxsize=256)
def parsed_condition(text: str) -> exp.Expr:
    """The tree of one condition on the columns of a row.

    Raises:
        ValueError: it is anything else.
    """
    try:
        trees = Postgres().parse(f"SELECT 1 WHERE (\n{text}\n)")
    except SqlglotError:
        raise ValueError(f"not an SQL condition: {text!r}") from None
    tree = trees[0] if len(trees) == 1 and text.strip() else None
    where = tree.args.get("where") if isinstance(tree, exp.Select) else None
    parts = {name for name, value in tree.args.items() if value} if tree else set()
    if not where or not isinstance(where.this, exp.Paren) or parts - {"expressions", "where", "kind"}:
        raise ValueError(f"not one SQL condition: {text!r}")
    condition: exp.Expr = where.this.this
    if condition.find(exp.Query, exp.Subquery):
        raise ValueError(f"a condition sees one row of the table and cannot query: {text!r}, write a custom_sql check")
    if condition.find(exp.AggFunc, exp.Window):
        raise ValueError(f"a condition sees one row of the table and cannot aggregate: {text!r}")
    if bind := condition.find(exp.Placeholder, exp.Parameter):
        raise ValueError(f"a condition takes no binds: :{bind.name} in {text!r}")
    if any(found.table for found in condition.find_all(exp.Column)):
        raise ValueError(f"name columns without their table: {text!r}")
    return condition


def columns_in(text: str) -> tuple[str, ...]:
    """The columns that a condition looks at, as PostgreSQL stores their names.

    Raises:
        ValueError: it is not one condition.
    """
    names = (found.this for found in parsed_condition(text).find_all(exp.Column))
    return tuple(dict.fromkeys(str(name.this if name.args.get("quoted") else name.this.lower()) for name in names))


def condition(text: str) -> exp.Paren:
    """The condition to be put into a statement, word for word.

    Raises:
        ValueError: it is not one condition.
    """
    parsed_condition(text)
    return exp.Paren(this=UserSql(this=text))

"""The total order of the rows of one key: version first, NULL lowest, then the row's content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.dialects.postgres import SortUsing
from airflow_idempotent.sql.statement import column, operator, row_of


def newer(left: str, right: str, *, version: Sequence[str], columns: tuple[str, ...], target: TableShape) -> exp.Expression:
    """Whether row ``left`` (an alias) beats row ``right`` of the same key.

    Strictly greater version, compared column by column; equal versions are decided by the row
    image, which PostgreSQL orders totally, NULLs and all. Without version any other content wins.
    """
    image = operator(row_of(columns, left), "*>" if version else "*<>", row_of(columns, right))
    return reduce(lambda rest, name: _decides(name, left, right, target, rest), reversed(version), image)


def _decides(name: str, left: str, right: str, target: TableShape, rest: exp.Expression) -> exp.Expression:
    ours, theirs = column(name, left), column(name, right)
    greater: exp.Expression = exp.GT(this=ours, expression=theirs)
    equal: exp.Expression = exp.EQ(this=ours, expression=theirs)
    if target[name].nullable:
        greater = exp.or_(greater, exp.and_(theirs.is_(exp.null()), exp.not_(ours.is_(exp.null()))))
        equal = exp.NullSafeEQ(this=ours, expression=theirs)
    return exp.or_(greater, exp.and_(equal, rest))


def same(left: str, right: str, columns: tuple[str, ...]) -> exp.Expression:
    """Whether two rows are equal to the last byte."""
    return operator(row_of(columns, left), "*=", row_of(columns, right))


def best_first(source: str, *, key: Sequence[str], version: Sequence[str], columns: tuple[str, ...]) -> list[exp.Expression]:
    """Sort terms under which the first row of each key is the one that ``newer`` would let win."""
    terms: list[exp.Expression] = [exp.Ordered(this=column(name, source), nulls_first=False) for name in key]
    terms += [exp.Ordered(this=column(name, source), desc=True, nulls_first=False) for name in version]
    return [*terms, SortUsing(this=row_of(columns, source), operator="pg_catalog.*>")]

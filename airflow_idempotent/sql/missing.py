"""Rows of a partition that its batch lacks."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.actions import DeleteMissing
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.measure import bounds, within
from airflow_idempotent.sql.statement import Statement, column, statement, table


def delete_missing(action: DeleteMissing, target: TableShape) -> tuple[Statement, Statement]:
    """Whether there are any, and the DELETE, which looks again: a row that left the partition meanwhile stays."""
    same_key = [exp.EQ(this=column(name, "s"), expression=column(name, "t")) for name in action.unique_key]
    there = exp.select(exp.Literal.number(1)).from_(table(action.source, "s")).where(*same_key)
    gone = exp.and_(*within(action.column, "t"), exp.not_(exp.Exists(this=there)))
    binds = bounds(action.partition, target[action.column])
    found = exp.select(exp.Literal.number(1)).from_(table(action.target, "t")).where(gone.copy())
    return (
        statement(exp.select(exp.Exists(this=found)), **binds),
        statement(exp.delete(table(action.target, "t")).where(gone), **binds),
    )

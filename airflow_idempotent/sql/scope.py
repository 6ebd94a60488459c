"""What a batch speaks for: a partition, what batches of it wrote, the rows of its keys, or the whole table."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from airflow_idempotent.core.actions import ReplaceRows
from airflow_idempotent.core.columns import BATCH_ID, TableShape
from airflow_idempotent.sql.measure import bounds, within
from airflow_idempotent.sql.statement import Statement, column, setting, statement, table


def in_scope(action: ReplaceRows, alias: str) -> list[exp.Expr]:
    """That a row of the target is one of those which the batch speaks for; bind ``scope_binds``."""
    if action.within:
        return within(action.within[0], alias)
    if action.partition:
        by = exp.Collate(this=column(BATCH_ID, alias), expression=exp.to_identifier("C", quoted=True))
        return [
            exp.GTE(this=by, expression=exp.Placeholder(this="first_id")),
            exp.LT(this=by.copy(), expression=exp.Placeholder(this="beyond_ids")),
        ]
    if action.keys:
        asked = exp.select(*(column(name, "k") for name in action.keys)).from_(table(action.source, "k"))
        known = exp.Tuple(expressions=[column(name, alias) for name in action.keys])
        return [exp.In(this=known, query=asked.subquery())]
    return []


def scope_binds(action: ReplaceRows, target: TableShape) -> dict[str, Any]:
    """The values that ``in_scope`` needs. Batch ids are ``<partition>_<number>``: a backtick follows the underscore."""
    if action.within:
        return bounds(action.within[1], target[action.within[0]])
    if action.partition:
        return {"first_id": f"{action.partition.compact}_", "beyond_ids": f"{action.partition.compact}`"}
    return {}


def any_row(action: ReplaceRows, target: TableShape) -> tuple[Statement, ...]:
    """Whether the scope has any row, between two settings: by an index if there is one.

    The planner expects the first of many rows to come soon, and would read all those before it.
    """
    found = exp.select().from_(table(action.target, "t")).where(*in_scope(action, "t"))
    ask = statement(exp.select(exp.Exists(this=found)), **scope_binds(action, target))
    return setting("enable_seqscan", "off"), ask, setting("enable_seqscan", "on")


def rows_in_target(action: ReplaceRows) -> Statement:
    """How many rows an empty batch would take away."""
    counted = exp.select(exp.Count(this=exp.Star())).from_(table(action.target, "t"))
    if action.on_missing == "soft_delete":
        counted = counted.where(exp.not_(column(action.deleted_column, "t")))
    return statement(counted)


def keys_elsewhere(action: ReplaceRows, target: TableShape) -> Statement:
    """How many keys of the batch stand in the target outside its scope."""
    same = [exp.EQ(this=column(name, "t"), expression=column(name, "w")) for name in action.unique_key]
    outside = exp.not_(exp.Is(this=exp.Paren(this=exp.and_(*in_scope(action, "t"))), expression=exp.true()))
    counted = exp.select(exp.Count(this=exp.Star())).from_(table(action.source, "w"))
    joined = counted.join(table(action.target, "t"), on=exp.and_(*same)).where(outside)
    return statement(joined, **scope_binds(action, target))

"""Counting and digesting: what a batch holds, what a partition of the target holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from airflow_idempotent.core.actions import InspectBatch, MeasurePartition
from airflow_idempotent.core.columns import BATCH_ID, Column, TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table

# Types that hash by value; of every other the text is hashed, since it, or something inside it, may have no hash.
HASHED = {
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "boolean",
    "text",
    "character varying",
    "character",
    "uuid",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
    "time without time zone",
    "interval",
    "bytea",
    "jsonb",
}
# Types that have min() and max().
_ORDERED = {
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
    "time without time zone",
    "time with time zone",
    "interval",
    "text",
    "character varying",
    "character",
}


def inspect_batch(action: InspectBatch, target: TableShape) -> Statement:
    """One scan of staging, one row: rows, bounds of version and time, rows outside, NULLs per key, numbers unfit."""
    scaled = [item for item in target.select(action.columns) if item.scale is not None]
    selected: list[exp.Expr] = [exp.alias_(exp.Count(this=exp.Star()), "rows")]
    selected += _bounds("version", next(iter(action.version), ""), action.columns, target)
    selected += _bounds("event_time", action.event_time or "", action.columns, target)
    selected += [_outside(action), _missing(action)]
    selected += [_count_where(column(name).is_(exp.null()), f"null:{name}") for name in action.unique_key]
    selected += [_count_where(would_be_rounded(item), f"scale:{item.name}") for item in scaled]
    selected += [_count_where(does_not_fit(item), f"range:{item.name}") for item in scaled]
    binds = bounds(action.partition, target[action.event_time]) if action.partition and action.event_time else {}
    if action.late_since and action.event_time:
        names = ("late_since", "late_before")
        selected += [_count_where(_before(action, action.event_time, name), name) for name in names]
        by = target[action.event_time].data_type
        binds |= {name: item.bounds(by)[0] for name, item in zip(names, action.late_since, strict=True)}
        binds |= {"new_since": action.new_since[1]} if action.new_since else {}
    return statement(exp.select(*selected).from_(table(action.staging)), **binds)


def measure_partition(action: MeasurePartition, target: TableShape) -> Statement:
    """Rows and digest of one partition, or of the whole table. The digest sums a hash per row, so no order matters."""
    hashed = [
        column(item.name) if item.base_type in HASHED else exp.cast(column(item.name), data_type("text"))
        for item in target.columns
        if item.name != BATCH_ID
    ]
    total = exp.func("coalesce", exp.Sum(this=row_hash(hashed)), exp.Literal.number(0))
    selected = [exp.Count(this=exp.Star()), exp.cast(total, data_type("text"))]
    tree = exp.select(*selected).from_(table(action.target))
    if action.column is None:
        return statement(tree)
    tree = tree.where(*within(action.column))
    return statement(tree, **bounds(action.partition, target[action.column]))


def row_hash(values: Sequence[exp.Expr]) -> exp.Expr:
    """64 bits of a row, equal for rows that are equal."""
    return exp.func("hash_record_extended", exp.func("ROW", *(value.copy() for value in values)), exp.Literal.number(0))


def within(name: str, of: str | None = None) -> list[exp.Expr]:
    """``column >= start AND column < end``: half-open, and nothing is computed on the column."""
    return [
        exp.GTE(this=column(name, of), expression=exp.Placeholder(this="start")),
        exp.LT(this=column(name, of), expression=exp.Placeholder(this="end")),
    ]


def partition_rows(target: TableShape, by: str) -> exp.Subquery:
    """The rows of one partition, to be read like a table; bind ``bounds``."""
    columns = [column(name) for name in target.names]
    return exp.select(*columns).from_(table(target.relation)).where(*within(by)).subquery(quoted("partition_rows"))


def count_within(relation: Relation, partition: Partition, by: Column) -> Statement:
    """How many rows of a table lie in a partition."""
    counted = exp.select(exp.Count(this=exp.Star())).from_(table(relation)).where(*within(by.name))
    return statement(counted, **bounds(partition, by))


def bounds(partition: Partition, by: Column) -> dict[str, Any]:
    """The values for ``within``, as a column of that type compares them."""
    start, end = partition.bounds(by.data_type)
    return {"start": start, "end": end}


def _bounds(label: str, name: str, columns: tuple[str, ...], target: TableShape) -> list[exp.Expr]:
    """Least and greatest value as text, or NULL where there is no such column or no order."""
    if name not in columns or target[name].base_type not in _ORDERED:
        return [exp.alias_(exp.null(), f"{side}_{label}") for side in ("min", "max")]
    return [
        exp.alias_(exp.cast(aggregate(this=column(name)), data_type("text")), f"{side}_{label}")
        for side, aggregate in (("min", exp.Min), ("max", exp.Max))
    ]


def _before(action: InspectBatch, name: str, bind: str) -> exp.Expr:
    before = exp.LT(this=column(name), expression=exp.Placeholder(this=bind))
    if not action.new_since:
        return before
    return exp.and_(before, exp.GTE(this=column(action.new_since[0]), expression=exp.Placeholder(this="new_since")))


def _outside(action: InspectBatch) -> exp.Expr:
    """Rows whose time lies outside the partition; NULL where nobody asks."""
    if action.partition is None or not action.event_time:
        return exp.alias_(exp.null(), "outside")
    return _count_where(exp.not_(exp.Paren(this=exp.and_(*within(action.event_time)))), "outside")


def _missing(action: InspectBatch) -> exp.Expr:
    """Rows that have no time; NULL where nobody asks."""
    if not action.no_missing or not action.event_time:
        return exp.alias_(exp.null(), "missing")
    return _count_where(column(action.event_time).is_(exp.null()), "missing")


def _count_where(condition: exp.Expr, label: str) -> exp.Expr:
    counted = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition))
    return exp.alias_(counted, label[:63], quoted=True)


def would_be_rounded(item: Column) -> exp.Expr:
    """Digits beyond the scale that are not zero. ``scale`` costs nothing and leaves few values to ``min_scale``."""
    places = exp.Literal.number(item.scale or 0)
    if (item.scale or 0) < 0:
        return exp.NEQ(this=column(item.name), expression=exp.func("round", column(item.name), places))
    longer = [exp.GT(this=exp.func(name, column(item.name)), expression=places) for name in ("scale", "min_scale")]
    return exp.and_(*longer)


def does_not_fit(item: Column) -> exp.Expr:
    """A number too great for the column's precision; NaN fits."""
    most = exp.Literal.number(f"{item.greatest:f}")
    outside = exp.or_(
        exp.GTE(this=column(item.name), expression=most),
        exp.LTE(this=column(item.name), expression=exp.Neg(this=most.copy())),
    )
    return exp.and_(outside, exp.NEQ(this=column(item.name), expression=exp.Literal.string("NaN")))

"""Counting and digesting: what a batch holds, what a partition of the target holds."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from airflow_idempotent.checks.hashing import bucket_of, hashable, row_hash
from airflow_idempotent.checks.histograms import profile_rows
from airflow_idempotent.core.actions import InspectBatch, MeasurePartition, ProfilePartition
from airflow_idempotent.core.columns import BATCH_ID, Column, TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.remembered import remembered
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table

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


_LATE = ("late_since", "late_before")


def _inspected(action: InspectBatch, target: TableShape) -> dict[str, Any]:
    if not action.event_time:
        return {}
    event_time = target[action.event_time]
    binds: dict[str, Any] = bounds(action.partition, event_time) if action.partition else {}
    if action.late_since:
        pairs = zip(_LATE, action.late_since, strict=True)
        binds |= {name: item.bounds(event_time.data_type)[0] for name, item in pairs}
        binds |= {"new_since": action.new_since[1]} if action.new_since else {}
    return binds


@remembered(_inspected)
def inspect_batch(action: InspectBatch, target: TableShape) -> Statement:
    """One scan of staging, one row: rows, bounds of version and time, rows outside, NULLs per key, numbers unfit."""
    columns = target.select(action.columns)
    selected: list[exp.Expr] = [exp.alias_(exp.Count(this=exp.Star()), "rows")]
    selected += _bounds("version", next(iter(action.version), ""), action.columns, target)
    selected += _bounds("event_time", action.event_time or "", action.columns, target)
    selected += [_outside(action), _missing(action)]
    selected += [_count_where(column(name).is_(exp.null()), f"null:{name}") for name in action.unique_key]
    selected += [_count_where(would_be_rounded(item), f"scale:{item.name}") for item in columns if item.rounds]
    selected += [_count_where(does_not_fit(item), f"range:{item.name}") for item in columns if item.scale is not None]
    if action.late_since and action.event_time:
        selected += [_count_where(_before(action, action.event_time, name), name) for name in _LATE]
    return statement(exp.select(*selected).from_(table(action.staging)), **_inspected(action, target))


def _measured(action: MeasurePartition, target: TableShape) -> dict[str, Any]:
    return {} if action.column is None else bounds(action.partition, target[action.column])


@remembered(_measured)
def measure_partition(action: MeasurePartition, target: TableShape) -> Statement:
    """Rows and digest of one partition, or of the whole table. The digest sums a hash per row, so no order matters.

    In buckets it is a row of (bucket, rows, sum of hashes) for each that is not empty.
    """
    total = exp.func("coalesce", exp.Sum(this=row_hash(_content(target))), exp.Literal.number(0))
    selected: list[exp.Expr] = [exp.Count(this=exp.Star()), exp.cast(total, data_type("text"))]
    if action.buckets:
        selected.insert(0, bucket_of(action.key, target, action.buckets))
    tree = exp.select(*selected).from_(table(action.target))
    if action.buckets:
        tree = tree.group_by(exp.Literal.number(1))
    if action.column is not None:
        tree = tree.where(*within(action.column))
    return statement(tree, **_measured(action, target))


def _content(target: TableShape) -> list[exp.Expr]:
    """All that a row says; not which batch has written it."""
    return hashable([name for name in target.names if name != BATCH_ID], target)


def profile_partition(action: ProfilePartition, target: TableShape, rows: int = 0) -> Statement:
    """How values are spread: rows of (column, what, bin, count), of all rows or a sample of so many."""
    part: exp.Table | exp.Subquery = table(action.target)
    where: dict[str, Any] = {}
    if action.column is not None:
        part, where = partition_rows(target, action.column), bounds(action.partition, target[action.column])
    tree, binds = profile_rows(part, target.select(action.columns), target, action.sampling, rows)
    return statement(tree, **where, **binds)


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
    """Digits beyond those of the type that are not zero. ``scale`` costs nothing, leaves few to ``min_scale``."""
    if item.scale is None:
        rounded = exp.cast(column(item.name), data_type(item.plain_type))
        return exp.NullSafeNEQ(this=column(item.name), expression=rounded)
    value, places = _value(item), exp.Literal.number(item.scale)
    if item.scale < 0:
        return _any(item, exp.NEQ(this=value, expression=exp.func("round", value.copy(), places)))
    longer = [exp.GT(this=exp.func(name, value.copy()), expression=places) for name in ("scale", "min_scale")]
    return _any(item, exp.and_(*longer))


def does_not_fit(item: Column) -> exp.Expr:
    """A number too great for the column's precision; NaN fits."""
    value, most = _value(item), exp.Literal.number(f"{item.greatest:f}")
    outside = exp.or_(
        exp.GTE(this=value, expression=most),
        exp.LTE(this=value.copy(), expression=exp.Neg(this=most.copy())),
    )
    return _any(item, exp.and_(outside, exp.NEQ(this=value.copy(), expression=exp.Literal.string("NaN"))))


def _value(item: Column) -> exp.Expr:
    """A number of the column: its value, or one of those in it."""
    return column("value", "each") if item.is_array else column(item.name)


def _any(item: Column, condition: exp.Expr) -> exp.Expr:
    """Whether that holds for the value, or for any of those in an array."""
    if not item.is_array:
        return condition
    alias = exp.TableAlias(this=quoted("each"), columns=[quoted("value")])
    values = exp.Unnest(expressions=[column(item.name)], alias=alias)
    return exp.Exists(this=exp.select().from_(values).where(condition))

"""What a partition is compared with: the rows its load has measured, by the columns that the table had then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from airflow_idempotent.core.actions import MeasurePartition
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.staged import Scope
from airflow_idempotent.core.step import Measure, Receipt
from airflow_idempotent.engine.measuring import digest
from airflow_idempotent.engine.session import Session
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql import audit as sql
from airflow_idempotent.sql.ledger import batch_that_reached
from airflow_idempotent.sql.measure import measure_partition

Columns = tuple[tuple[str, str], ...]
"""Names and types, in the order of the table."""

_INTEGERS = {"smallint", "integer", "bigint"}
_TEXTS = {"text", "character varying"}


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a partition must still hold.

    ``columns`` are those that were hashed; None when an older release did not write them down. ``began`` is when
    an audit began to measure it; None when it is what the load has measured.
    """

    row_count: int | None
    digest: str | None
    columns: Columns | None
    began: datetime | None = None

    def over(self, measure: Measure) -> Measure:
        """The measure of a load with this in its place."""
        return replace(measure, row_count=self.row_count, digest=self.digest)


def columns_of(shape: TableShape) -> Columns:
    """The columns of a table as they are written down."""
    return tuple((column.name, column.data_type) for column in shape.columns)


def as_text(columns: Columns) -> str:
    """Columns as the ledger keeps them."""
    return json.dumps(columns, ensure_ascii=False)


def from_text(text: str) -> Columns:
    """Columns as they were."""
    return tuple((name, kind) for name, kind in json.loads(text))


def remember_columns(target: TableShape, receipt: Receipt, session: Session) -> None:
    """Write down the columns that a load has found, when they are others than those known."""
    columns = as_text(columns_of(target))
    session.execute(sql.record_shape(receipt.table, receipt.table_version, receipt.event_id or 0, columns))


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """The columns of a table as they were written down: from which event on, and when."""

    event_id: int
    columns: Columns
    recorded_at: datetime


def known_columns(table: str, session: Session, event_id: int | None = None, version: int = 1) -> KnownColumns | None:
    """The columns that a table had at an event, or those that its newest load has seen."""
    rows = session.query(sql.shape_at(table, version, event_id))
    return KnownColumns(int(rows[0][0]), from_text(rows[0][1]), rows[0][2]) if rows else None


def swapped_since(table: str, session: Session, event_id: int, began: datetime | None = None, version: int = 0) -> str:
    """Another version that has taken the table's place after an event, or after an instant; empty when none has."""
    rows = session.query(sql.swapped_since(table, event_id, began, version))
    return f"version {rows[0][0]}" if rows else ""


def baseline_of(published: Receipt, session: Session) -> Baseline:
    """What the partition of a receipt is compared with: what its load has measured, or an audit since."""
    event = published.event_id or 0
    if rows := session.query(sql.baseline(published.table, published.table_version, published.partition, event)):
        row_count, found, columns, began = rows[0]
        return Baseline(row_count, found, from_text(columns), began)
    known = known_columns(published.table, session, event, published.table_version)
    return Baseline(published.measure.row_count, published.measure.digest, known.columns if known else None)


def comparable(baseline: Baseline, shape: TableShape, by: str | None = None) -> TableShape | None:
    """The table with the columns of a baseline only; None where one of them is gone or hashes otherwise."""
    if baseline.columns is None:
        return shape
    names = [name for name, _ in baseline.columns]
    if any(name not in shape or not hash_alike(kind, shape[name].data_type) for name, kind in baseline.columns):
        return None
    if by and by not in names:
        return None
    return replace(shape, columns=shape.select(names))


def shape_of(baseline: Baseline | None, shape: TableShape) -> TableShape:
    """What to measure a partition by: the columns of its baseline, or all where those are no more."""
    return (comparable(baseline, shape) if baseline else None) or shape


def hash_alike(old: str, new: str) -> bool:
    """Whether equal values of both types have equal hashes."""
    bases = {old.partition("(")[0].strip(), new.partition("(")[0].strip()}
    return old == new or bases <= _INTEGERS or bases <= _TEXTS or bases == {"numeric"}


def differences(old: Columns, new: Columns) -> Iterator[str]:
    """What has become of the columns of a table, one change a line; their order means nothing."""
    before, after = dict(old), dict(new)
    yield from (f"column {name} is gone" for name in before if name not in after)
    yield from (f"column {name} {kind} is new" for name, kind in after.items() if name not in before)
    changed = ((name, kind) for name, kind in after.items() if name in before and before[name] != kind)
    yield from (f"column {name} is {kind}, was {before[name]}" for name, kind in changed)


def measured(spec: LoadSpec, shape: TableShape, partition: Partition, session: Session) -> Measure:
    """Rows and digest of the partition now; nothing for a table without a partition column."""
    if not spec.partition_column and spec.strategy.scope is not Scope.TABLE:
        return Measure()
    statement = measure_partition(MeasurePartition(spec.relation, spec.partition_column, partition), shape)
    [(rows, total)] = session.query(statement)
    return Measure(row_count=rows, digest=digest(rows, total))


def changed_since(
    spec: LoadSpec,
    partition: Partition,
    published: Receipt,
    baseline: Baseline,
    shape: TableShape,
    now: Measure,
    session: Session,
) -> str:
    """A batch of another partition that has written rows of this one since; empty when there is none.

    A version that has taken the table's place counts as one. Most batches write where the times of their rows lie. One
    that updates a row by a key without the time may have taken it out of here, which leaves fewer rows; by some options
    a row is written where it lies already.
    """
    by = spec.partition_column
    stays = by in spec.unique_key or spec.strategy.stays_inside
    moved = not stays and (now.row_count or 0) < (baseline.row_count or 0)
    return reached_since(spec, partition, published, baseline.began, shape, session, moved=moved)


def reached_since(
    spec: LoadSpec,
    partition: Partition,
    receipt: Receipt,
    began: datetime | None,
    shape: TableShape,
    session: Session,
    *,
    moved: bool,
) -> str:
    """The batch of another partition, or the version, that has written here since an event; empty when none has.

    ``began`` is when that began which the event tells of; None for the event's own. ``moved`` counts a batch that
    may have taken rows away.
    """
    event = receipt.event_id or 0
    if swapped := swapped_since(receipt.table, session, event, began, version=receipt.table_version):
        return f"of {swapped}"
    by = spec.partition_column
    anywhere = spec.strategy.writes_anywhere or (by is not None and not spec.strategy.moves(by))
    if not by and not anywhere:
        return ""
    start, end = partition.bounds(shape[by].data_type) if by and not anywhere else ("-infinity", "infinity")
    where = (receipt.table, receipt.table_version, partition.key)
    rows = session.query(batch_that_reached(*where, event, start, end, moved, began))
    return str(rows[0][0]) if rows else ""

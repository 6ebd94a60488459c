"""Where a partition differs from what was published: its buckets, and in them the keys."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_idempotent.checks.pairing import Pairing, shown_key
from airflow_idempotent.core.actions import (
    CopyBatch,
    CreateStaging,
    Deduplicate,
    InspectBatch,
    MeasurePartition,
    RejectRows,
    RunChecks,
)
from airflow_idempotent.core.buckets import Buckets, Difference
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.engine.apply import apply
from airflow_idempotent.engine.batches import PartOpener
from airflow_idempotent.engine.measuring import buckets_now, buckets_of, digest
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import IdempotentError
from airflow_idempotent.plan.build import Load, build_step
from airflow_idempotent.sql.checks import target_place
from airflow_idempotent.sql.statement import Statement, statement, table

log = logging.getLogger(__name__)

SHOWN = 5
# Strategies that write the columns of a batch as they are: its rows can be compared with those of the table.
_AS_THEY_ARE = ("merge", "insert_only", "delete_insert", "insert_overwrite", "snapshot")
_STAGING = (CreateStaging, CopyBatch, InspectBatch, RejectRows, Deduplicate)


@dataclass(frozen=True, slots=True)
class Located:
    """Where rows differ, in words, and a few of their keys."""

    message: str = ""
    samples: tuple[str, ...] = ()


def locate(
    load: Load,
    shape: TableShape,
    hashed: TableShape,
    published: Receipt,
    session: Session,
    batches: PartOpener | None,
) -> Located:
    """The buckets of the partition that are not as they were published, and the keys in which they differ.

    One more scan of the partition, of the columns that were ``hashed`` then; the batch is read again only to compare
    rows of those buckets. Nothing is written.
    """
    recorded = buckets_of(session, published.event_id or 0)
    if recorded is None:
        return Located("it was published before digests of buckets were kept")
    if digest(recorded.row_count, recorded.total) != published.measure.digest:
        return Located("an audit has measured it anew since, all in one")
    spec = load.spec
    action = MeasurePartition(spec.relation, spec.partition_column, load.partition, recorded.count, recorded.key)
    found = recorded.differences(buckets_now(session, action, hashed))
    message = _told(found, recorded)
    is_of_batch = load.manifest.batch_id == published.batch_id and spec.unique_key == recorded.key
    if batches is None or not is_of_batch or spec.strategy.kind not in _AS_THEY_ARE:
        return Located(message)
    session.execute(Statement("SAVEPOINT idem_locate"))
    try:
        told, samples = _compared(load, shape, recorded, [item.number for item in found], session, batches)
    except (IdempotentError, OSError) as error:  # the batch may be gone, and the verdict stands without it
        log.info("table=%s partition=%s the batch cannot be compared: %s", spec.table, load.partition, error)
        session.execute(Statement("ROLLBACK TO SAVEPOINT idem_locate"))
        return Located(f"{message}; the landed batch is not at hand to compare with")
    return Located(f"{message}; {told}", samples)


def _told(found: Sequence[Difference], recorded: Buckets) -> str:
    """The buckets, with their rows then and now."""
    shown = ", ".join(f"{item.number} ({item.before:,} rows, now {item.after:,})" for item in found[:SHOWN])
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    return f"in {len(found):,} of {recorded.count:,} buckets by ({', '.join(recorded.key)}): {shown}{more}"


def _compared(
    load: Load,
    shape: TableShape,
    recorded: Buckets,
    numbers: Sequence[int],
    session: Session,
    batches: PartOpener,
) -> tuple[str, tuple[str, ...]]:
    """The keys of these buckets in the table and in the batch, laid side by side."""
    step = build_step(load, shape)
    work = Work(step, session, batches)
    for action in step.actions:
        if isinstance(action, _STAGING):
            apply(work, action)
    gate = next(action for action in step.actions if isinstance(action, RunChecks))
    place = target_place(shape, load.spec.partition_column, load.partition)
    columns = tuple(name for name in gate.columns if name not in recorded.key)
    pairing = Pairing(
        place.rows,
        table(gate.rows),
        recorded.key,
        columns,
        shape,
        shape,
        within=(numbers, recorded.count),
    )
    [counts] = session.query(statement(pairing.counts(), **place.binds))
    only_table, only_batch, both, differing = counts[:4]
    told = f"{only_table:,} keys only in the table, {only_batch:,} only in the batch, {differing:,} of {both:,} differ"
    rows = session.query(statement(pairing.examples(SHOWN), **place.binds))
    return told, tuple(_example(row, len(recorded.key)) for row in rows)


def _example(row: Sequence[str], keys: int) -> str:
    in_table, in_batch, name = row[keys:]
    what = f"{name} differs" if in_table and in_batch else "only in the table" if in_table else "only in the batch"
    return f"{shown_key(row[:keys])} {what}"

"""Upserts: look before a re-run writes, run the MERGE, count what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_idempotent.core.actions import UpsertRows
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.refusals import UNIQUE_VIOLATION, detail, sqlstate
from airflow_idempotent.engine.work import Work
from airflow_idempotent.sql.merge import (
    BACK_TO_SAVEPOINT,
    COUNTERS,
    SAVEPOINT,
    STALE,
    UNCHANGED,
    compare_rows,
    count_keys,
    repeated_keys,
    upsert_rows,
)
from airflow_idempotent.sql.statement import Statement


def upsert(work: Work, action: UpsertRows) -> None:
    """Make the target hold the newest version of every key of the batch."""
    target = work.step.target
    if action.complete and action.superseded:
        work.count(Effects(stale=work.rows))
        return
    if action.within and not all_lie(work, *action.within):
        action = replace(action, within=None)
    if work.step.exclusive:
        work.refuse_repeated(action.unique_key, repeated_keys(action, target))
    if work.is_rerun and _is_all_there(work, action):
        return
    written = _merge(work, upsert_rows(action, target))
    [(inserted, unchanged, stale)] = work.session.query(COUNTERS.read)
    work.session.execute(COUNTERS.drop)
    kept = written + unchanged + stale
    rejected = 0
    if target.intercepted:
        [(keys,)] = work.session.query(count_keys(action))
        kept, rejected = keys, keys - kept
    inserted = min(inserted, written)  # a trigger that drops rows may drop those too
    work.count(
        Effects(
            inserted=inserted,
            updated=written - inserted,
            unchanged=unchanged,
            stale=stale,
            duplicate=work.rows - kept,
            rejected=rejected,
        )
    )


def _is_all_there(work: Work, action: UpsertRows) -> bool:
    """Whether nothing is to be written, as after any load that nobody has tampered with; then it is all counted."""
    *settings, compare = compare_rows(action, work.step.target)
    for statement in settings:
        work.session.execute(statement)
    found: dict[str, int] = dict(work.session.query(compare))
    unchanged, stale = found.pop(UNCHANGED, 0), found.pop(STALE, 0)
    if found:
        return False
    duplicate = work.rows - unchanged - stale
    work.count(Effects(unchanged=unchanged, stale=stale, duplicate=duplicate))
    return True


def _merge(work: Work, statements: Sequence[Statement]) -> int:
    """Run them; again when a parallel writer has inserted one of the keys meanwhile, which can be seen now.

    A row that collides with the same value twice collides with something that is no key.
    """
    collided: str | None = None
    while True:
        work.session.execute(SAVEPOINT)
        try:
            return [work.session.execute(statement) for statement in statements][-1]
        except Exception as error:
            if sqlstate(error) != UNIQUE_VIOLATION or detail(error) == collided:
                raise
            collided = detail(error)
            work.session.execute(BACK_TO_SAVEPOINT)


def all_lie(work: Work, column: str, partition: Partition) -> bool:
    """Whether all rows of the batch lie in the partition."""
    least, greatest = work.measure.min_event_time, work.measure.max_event_time
    if least is None or greatest is None:
        return not work.rows
    return partition.spans(least, greatest, work.step.target[column].data_type)

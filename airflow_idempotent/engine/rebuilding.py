"""Writing versions that stay: count repeated rows, write the difference."""

from __future__ import annotations

from airflow_idempotent.core.actions import RebuildIntervals, UpsertRows
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.differing import write_difference
from airflow_idempotent.engine.work import Work
from airflow_idempotent.sql.history import rebuild_intervals as difference_of
from airflow_idempotent.sql.merge import repeated_keys


def rebuild_intervals(work: Work, action: RebuildIntervals) -> None:
    """Add the versions of the batch and rebuild the intervals of its keys.

    Raises:
        RepeatedKeyError: the target has a version of a key twice, and no index against it.
    """
    target = work.step.target
    if not target.is_unique(action.row_key):
        versions = UpsertRows(action.target, action.source, action.columns, action.row_key)
        work.refuse_repeated(action.row_key, repeated_keys(versions, target))
    work.count(Effects(duplicate=work.repeated))
    write_difference(work, difference_of(action, target), rows=work.publishable)

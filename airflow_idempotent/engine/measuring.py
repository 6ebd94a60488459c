"""What is measured of a partition after the write, and kept in the ledger for comparisons."""

from __future__ import annotations

import json
from dataclasses import replace

from airflow_idempotent.core.actions import MeasurePartition, ProfilePartition
from airflow_idempotent.core.buckets import Buckets
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.profile import Profile, is_measured
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.work import Work
from airflow_idempotent.sql import kept
from airflow_idempotent.sql.measure import measure_partition, profile_partition


def measure(work: Work, action: MeasurePartition) -> None:
    """Count and digest the partition, in buckets where they are asked for: the sum of those is the digest of all."""
    found = work.session.query(measure_partition(action, work.step.target))
    if action.buckets:
        work.buckets = Buckets.read(action.key, action.buckets, found)
        found = [(work.buckets.row_count, work.buckets.total)]
    [(rows, total)] = found
    work.measure = replace(work.measure, row_count=rows, digest=digest(rows, total))


def profile(work: Work, action: ProfilePartition) -> None:
    """Count how the values of the partition are spread, in a sample of its rows."""
    target = work.step.target
    found = work.session.query(profile_partition(action, target, work.measure.row_count or 0))
    measured = {item.name: is_measured(item) for item in target.select(action.columns)}
    work.profile = Profile.read(found, measured)


def keep(work: Work, event_id: int) -> None:
    """Write down what was measured beside the event; it commits with it."""
    if work.profile:
        work.session.execute(kept.record_profile(event_id, json.dumps(work.profile.as_json())))
    if work.buckets:
        found = {"key": work.buckets.key, "rows": work.buckets.rows, "digests": work.buckets.digests}
        values = {name: list(value) for name, value in found.items()}
        work.session.execute(kept.record_buckets(event_id, values))


def profile_of(session: Session, event_id: int) -> Profile | None:
    """The profile that was kept with a publication."""
    rows = session.query(kept.profile_of(event_id))
    return Profile.from_json(json.loads(rows[0][0])) if rows else None


def buckets_of(session: Session, event_id: int) -> Buckets | None:
    """The digests of buckets that were kept with a publication."""
    rows = session.query(kept.buckets_of(event_id))
    return Buckets(*(tuple(values) for values in rows[0])) if rows else None


def buckets_now(session: Session, action: MeasurePartition, shape: TableShape) -> Buckets:
    """The digests of buckets of the partition as it is."""
    return Buckets.read(action.key, action.buckets or 1, session.query(measure_partition(action, shape)))


def digest(rows: int, total: str) -> str:
    """Rows and the sum of their hashes as one word; equal for equal rows in any order."""
    return f"{rows}:{int(total) % (1 << 128):032x}"

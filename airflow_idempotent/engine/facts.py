"""What checks may know besides the rows, read from manifest and ledger once per evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from airflow_idempotent.checks import Check
from airflow_idempotent.checks.facts import Baseline, Facts, Need, plain
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql.baselines import latest_publication, measured

WEEKS = 4


def gather(
    session: Session,
    checks: Sequence[Check],
    *,
    table: str,
    shape: TableShape,
    partition: Partition,
    manifest: Manifest,
    published: bool,
    landed_rows: int | None,
    unique_key: tuple[str, ...] = (),
    version: int,
) -> Facts:
    """The facts that these checks ask for; one query for each that any of them needs, none otherwise."""
    needs = {need for check in checks for need in check.needs}
    where = (table, version)
    previous = weekday = None
    if Need.PREVIOUS in needs:
        here = [(partition.start, partition.end)]
        previous = session.query(latest_publication(*where, here, manifest.content_fingerprint))
    if Need.SAME_WEEKDAY in needs:
        weeks = [partition.earlier(days=7 * week) for week in range(1, WEEKS + 1)]
        weekday = session.query(latest_publication(*where, weeks))
    return Facts(
        partition=partition,
        shape=shape,
        table=table,
        published=published,
        batch_id=manifest.batch_id,
        cutoff=datetime.fromisoformat(manifest.cutoff_ts) if manifest.cutoff_ts else None,
        landed_rows=landed_rows,
        previous=_baseline(session, previous, published),
        same_weekday=_baseline(session, weekday, published),
        unique_key=unique_key,
    )


def _baseline(session: Session, found: Iterable[tuple[Any, ...]] | None, published: bool) -> Baseline | None:
    """A publication as a baseline, with what checks measured of it in the same place."""
    for event_id, partition, batch, in_batch, in_table, digest in found or ():
        results = session.query(measured(event_id, "validate" if published else "stage_merge"))
        observed = {name: None if value is None else plain(value) for name, value in results}
        rows = in_table if published else in_batch
        return Baseline(partition, batch, rows, digest, observed, event_id=event_id)
    return None

"""What comparing checks know besides the rows: other tables, profiles of earlier publications, the batch as it came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_idempotent.checks import Check
from airflow_idempotent.checks.facts import Baseline, Facts, Loaded, Need, plain
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.engine.measuring import profile_of
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql import kept


def surrounded(session: Session, checks: Sequence[Check], facts: Facts, version: int = 1) -> Facts:
    """The facts with what these checks ask for besides; nothing is looked up that nobody asks for."""
    tables = sorted({table for check in checks for table in check.tables_used})
    keys = sorted({key for check in checks for key in check.partitions_used})
    found = replace(facts, others=_shapes(session, tables), partitions=_publications(session, keys, facts, version))
    if any(Need.PROFILE in check.needs for check in checks):
        found = replace(
            found,
            previous=_with_profile(session, found.previous),
            same_weekday=_with_profile(session, found.same_weekday),
        )
    return found


def loaded(session: Session, published: Receipt | None) -> Loaded | None:
    """What is known of the load that made the partition what it is."""
    if published is None or published.event_id is None:
        return None
    expected = {name: plain(value) for name, value in session.query(kept.expected_of(published.event_id))}
    effects, measure = published.effects, published.measure
    of_batch = measure.staged_rows - effects.duplicate - effects.rejected - effects.stale
    return Loaded(expected, is_all=measure.row_count == of_batch)


def _shapes(session: Session, tables: Sequence[str]) -> dict[str, TableShape]:
    shapes = {table: session.shape(Relation.parse(table), views=True) for table in tables}
    return {table: shape for table, shape in shapes.items() if shape}


def _publications(session: Session, keys: Sequence[str], facts: Facts, version: int) -> dict[str, Baseline]:
    found = {}
    for key in keys:
        for event_id, partition, batch, rows, digest in session.query(kept.publication_of(facts.name, key, version)):
            baseline = Baseline(partition, batch, rows, digest, event_id=event_id)
            found[key] = replace(baseline, profile=profile_of(session, event_id))
    return found


def _with_profile(session: Session, baseline: Baseline | None) -> Baseline | None:
    return baseline and replace(baseline, profile=profile_of(session, baseline.event_id))

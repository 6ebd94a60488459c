"""The laws of audits, for every strategy: after any loads one finds nothing, after one edit exactly that partition."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.audit import Cause, Report, SourceVerdict
from airflow_idempotent.engine.audit import Asked, audit
from tests.laws.kinds import KINDS, Kind
from tests.laws.trial import Trial, examples_of, replays
from tests.laws.world import World
from tests.model.merge import Row

pytestmark = pytest.mark.timeout(1800)


DAYS = {"p": "2025-05-01", "q": "2025-05-02"}


def by_days(kind: Kind) -> Kind:
    """The same with a time in ``d``, by which its rows are told apart: they may lie in, and move to, any partition."""
    if "d" not in kind.columns or "partition_by" in kind.words:
        return kind
    layouts = {
        layout: re.sub(r"\bd text", "d date", body) for layout, body in kind.layouts.items() if "BY LIST" not in body
    }

    def rows(partition: str) -> st.SearchStrategy[Row]:
        return kind.rows(partition).map(lambda row: row | {"d": DAYS.get(str(row["d"]), row["d"])})

    return replace(kind, words=kind.words | {"event_time": "d"}, layouts=layouts, rows=rows)


def audited(trial: Trial, run: str) -> Report:
    connect = trial.world.connect
    return audit(trial.spec, Asked(run), connect=connect, compare_source=lambda due, partition: SourceVerdict())


@pytest.mark.parametrize("name", KINDS)
def test_an_audit_finds_nothing_after_any_loads_and_exactly_what_was_edited_after_them(
    world_once: World, name: str
) -> None:
    @settings(max_examples=-(-examples_of(name) // 20))
    @given(data=st.data())
    def example(data: st.DataObject) -> None:
        try_one(world_once, by_days(KINDS[name]), data)

    example()


def try_one(world: World, kind: Kind, data: st.DataObject) -> None:
    """A drawn history in a drawn order, an audit; then one row is taken away by hand, and another audit."""
    history, order = data.draw(replays(kind))
    trial = Trial(world, kind, data.draw(st.sampled_from(sorted(kind.layouts))))
    manifests = [trial.land(batch) for batch in history]
    for number in order:
        trial.load(manifests[number])
    before = trial.places()

    first = audited(trial, "first")

    assert first.findings == ()
    assert trial.places() == before
    if trial.spec.partition_column is None or not before:
        return
    place = data.draw(st.sampled_from(sorted(before, key=repr)))
    edited = partition_of(trial, place)
    published = {look.partition for look in first.looks}

    trial.world.sql(f"DELETE FROM {trial.spec.table} WHERE tableoid = %s AND ctid = %s::tid", place[:2])

    found = {item.partition for item in audited(trial, "second").new if item.cause is Cause.TARGET_CHANGED}
    assert found == {edited} & published


def partition_of(trial: Trial, place: tuple[Any, ...]) -> str:
    """In which partition the row at a place lies."""
    by = trial.spec.partition_column
    rows = trial.world.sql(f"SELECT {by} FROM {trial.spec.table} WHERE tableoid = %s AND ctid = %s::tid", place[:2])
    value = rows[0][0]
    return f"{value:%Y-%m-%d}" if isinstance(value, date) else ""

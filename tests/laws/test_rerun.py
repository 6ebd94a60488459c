"""Rerun: running a batch again changes nothing, and writes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.world import LAYOUTS, Batch, World, histories, law


@law
@given(history=histories(), layout=st.sampled_from(sorted(LAYOUTS)), checked=st.booleans())
def test_running_everything_again_writes_nothing(
    world: World, history: list[Batch], layout: str, checked: bool
) -> None:
    spec = world.table(layout, checked=checked)
    model = world.model(spec)
    manifests = world.landed(spec, history)
    for batch, manifest in zip(history, manifests, strict=True):
        effects = model.load(batch.rows, partition=batch.partition, revision=batch.revision)
        assert world.load(spec, manifest).effects.as_dict() == effects
    assert world.rows(spec) == model.rows
    before = world.physical(spec)

    for batch, manifest in zip(history, manifests, strict=True):
        effects = model.load(batch.rows, partition=batch.partition, revision=batch.revision)
        assert world.load(spec, manifest).effects.as_dict() == effects
        assert (effects["inserted"], effects["updated"], effects["deleted"]) == (0, 0, 0)

    assert world.physical(spec) == before


@law
@given(history=histories(most=2))
def test_landing_again_finds_the_same_batch(world_once: World, history: list[Batch]) -> None:
    spec = world_once.table()

    for batch in history:
        first, again = world_once.land(spec, batch), world_once.land(spec, batch)
        assert (first.replayed, again.replayed) == (False, True)
        assert again.manifest == first.manifest
        assert first.manifest.revision == batch.revision


@pytest.mark.parametrize("checked", [False, True])
def test_a_second_run_leaves_hardly_any_log_behind(world_once: World, checked: bool) -> None:
    world = world_once
    spec = world.table(checked=checked)
    row = {"sku": "x", "ver": 1, "minor": None, "v": "text" * 20, "n": 1, "d": "p"}
    batch = Batch("2025-05-01", 1, tuple({"shop": number, **row} for number in range(3000)))
    manifest = world.land(spec, batch).manifest

    def log_written() -> int:
        [(before,)] = world.sql("SELECT pg_current_wal_insert_lsn() - '0/0'")
        world.load(spec, manifest)
        [(after,)] = world.sql("SELECT pg_current_wal_insert_lsn() - '0/0'")
        return int(after - before)

    first, again = log_written(), log_written()

    assert again < first / 4

"""Commute: batches in any order, repeated, interleaved, in parallel end in the same rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.world import LAYOUTS, PARTITIONS, Batch, World, histories, law, rows
from tests.model.merge import Row


@st.composite
def replays(draw: st.DrawFn) -> tuple[list[Batch], list[int]]:
    """A history, and an order in which each of its batches is loaded at least once."""
    history = draw(histories())
    numbers = range(len(history))
    return history, draw(st.permutations([*numbers, *draw(st.lists(st.sampled_from(numbers), max_size=3))]))


@law
@given(
    replay=replays(),
    layout=st.sampled_from(sorted(LAYOUTS)),
    version=st.sampled_from([("ver",), ("ver", "minor")]),
    checked=st.booleans(),
)
def test_any_order_with_repeats_ends_in_the_same_rows(
    world_once: World, replay: tuple[list[Batch], list[int]], layout: str, version: tuple[str, ...], checked: bool
) -> None:
    world, (history, order) = world_once, replay
    spec = world.table(layout, version, checked=checked)
    in_time, model = world.model(spec), world.model(spec)
    for batch in history:
        in_time.load(batch.rows)
    manifests = world.landed(spec, history)

    for number in order:
        effects = model.load(history[number].rows)
        assert world.load(spec, manifests[number]).effects.as_dict() == effects

    assert world.rows(spec) == model.rows == in_time.rows


@law
@given(
    batches=st.lists(st.lists(rows(), max_size=6), min_size=4, max_size=4),
    layout=st.sampled_from(sorted(LAYOUTS)),
)
def test_two_partitions_at_once_with_the_same_keys_end_in_the_same_rows(
    world_once: World, batches: list[list[Row]], layout: str
) -> None:
    world = world_once
    spec = world.table(layout)
    model = world.model(spec)
    history = [Batch(PARTITIONS[n % 2], 1 + n // 2, (*content, *content)) for n, content in enumerate(batches)]
    manifests = world.landed(spec, history)
    for batch in history:
        model.load(batch.rows)

    def lane(number: int) -> int:
        loads = [world.load(spec, manifest) for manifest in manifests[number::2]]
        return sum(load.effects.inserted for load in loads)

    with ThreadPoolExecutor(2) as pool:
        inserted = sum(pool.map(lane, (0, 1)))

    assert world.rows(spec) == model.rows
    assert inserted == len(model.rows)


@law
@given(
    batches=st.lists(st.lists(rows(), max_size=6), min_size=2, max_size=2),
    order=st.permutations([0, 1, 0, 1]),
    layout=st.sampled_from(sorted(LAYOUTS)),
)
def test_without_version_the_newer_of_two_batches_wins(
    world_once: World, batches: list[list[Row]], order: list[int], layout: str
) -> None:
    world = world_once
    spec = world.table(layout, version=())
    in_time, model = world.model(spec), world.model(spec)
    history = [Batch(PARTITIONS[0], number + 1, tuple(content)) for number, content in enumerate(batches)]
    manifests = world.landed(spec, history)
    revisions = [manifest.revision for manifest in manifests]  # both 1 when the contents are equal
    for number, revision in enumerate(revisions):
        in_time.load(history[number].rows, partition="p", revision=revision)

    for number in order:
        effects = model.load(history[number].rows, partition="p", revision=revisions[number])
        assert world.load(spec, manifests[number]).effects.as_dict() == effects

    assert world.rows(spec) == model.rows == in_time.rows

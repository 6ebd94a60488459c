"""The laws for versions of a table: killed anywhere, repeated, cleared late, read all the while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.errors import IdempotentError
from airflow_idempotent.testing.crashes import Cut, chosen
from tests.laws.crashing import in_a_child, killed, killing, moments_of
from tests.laws.reading import Readers
from tests.laws.versions import DAYS, Act, Table
from tests.laws.world import World
from tests.postgres_fixtures import DRIVERS

KILLS = settings.default.max_examples * 2 // 5
HISTORIES = settings.default.max_examples // 10
SWAPS = 6
STORY = ("build", "compare", "swap", "rollback", "clean")
KINDS = ("build", "load", "swap", "rollback", "clean", "again", "again")
BEFORE = ((), ("build",), ("build", "swap", "build"), ("build", "swap", "build", "swap", "rollback"))
"""What has been done before: most of what goes wrong needs a version or two."""


def test_killed_at_any_moment_and_done_again_it_ends_as_if_nobody_had_been_killed(world_once: World) -> None:
    """A version is built, compared, swapped in, taken back and dropped; at some statements of it, or at all."""
    table = Table(world_once)
    moments = []
    for act in acts(table, "counted"):
        moments.append(moments_of(world_once, lambda connect: table.do(act, connect)))  # noqa: B023
        table.model = table.model.after(act)
    assert min(moments) > 8

    for turn, cut in enumerate(zip_longest(*chosen(moments, KILLS))):
        for act, moment in zip(acts(table, f"turn{turn}"), cut, strict=True):
            after = table.model.after(act)
            if moment is not None:
                pid = in_a_child(lambda: table.do(act, killing(world_once.connect, moment)))  # noqa: B023
                assert killed(pid), (act, moment)
                assert table.read() in (table.model.rows, after.rows), (act, moment)
            table.do(act)
            table.model = after
            assert table.is_as_the_model_says(), (act, moment)


def acts(table: Table, run: str) -> Iterator[Act]:
    """The acts of the story, each made when its turn has come."""
    built = table.new("build")
    for kind in STORY:
        yield built.again_as(kind) if kind in ("build", "compare") else table.new(kind, run=run, keep=0)


@settings(max_examples=HISTORIES)
@given(data=st.data())
def test_whatever_is_done_in_whatever_order_cut_off_repeated_or_cleared_late(
    world_once: World, data: st.DataObject
) -> None:
    table, done = Table(world_once), list[Act]()
    for number, kind in enumerate(data.draw(st.sampled_from(BEFORE))):
        done.append(table.new(kind, run=f"before{number}"))
        table.did(done[-1])
    for number in range(data.draw(st.integers(2, 6))):
        kind = data.draw(st.sampled_from(KINDS if done else KINDS[:-2]))
        if kind == "again":  # the last one: a retry; an older one: cleared in Airflow
            act = data.draw(st.sampled_from(done[::-1]))
        else:
            day, keep = data.draw(st.sampled_from(DAYS)), data.draw(st.integers(0, 2))
            act = table.new(kind, day=day, run=f"r{number}", keep=keep)
            done.append(act)
        try_one(table, act, data.draw(st.none() | st.integers(0, 70)))
    table.drop()


def try_one(table: Table, act: Act, moment: int | None) -> None:
    """Do it; first cut off at that moment, if any. It comes out as the model says, which may be a refusal."""
    refused: type[IdempotentError] | None = None
    try:
        after = table.model.after(act)
    except IdempotentError as error:
        after, refused = table.model, type(error)
    if moment is not None:
        cut = Cut(moment, table.world.terminate, import_module(DRIVERS[0]).OperationalError)
        with suppress(Exception):
            table.do(act, cut.connecting(table.world.connect))
        assert table.read() in (table.model.rows, after.rows), act
    if refused:
        with pytest.raises(refused):
            table.do(act)
    else:
        table.do(act)
    table.model = after
    assert table.is_as_the_model_says(), act


def test_readers_see_the_table_before_or_after_a_swap_and_never_an_error(world_once: World) -> None:
    """By its name, by a view on a view, together with rows of a child, by a cursor that stays open."""
    with Readers(world_once) as readers:
        for number in range(SWAPS):
            if number % 3 == 2:
                readers.roll_back()
            else:
                readers.swap()

    assert readers.errors == []
    assert readers.wrong_answers() == []
    assert min(readers.versions_seen().values()) > 1

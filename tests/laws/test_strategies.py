"""The four laws, for every strategy alike: rerun, commute, crash, isolate."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.strategies import STRATEGIES
from tests.laws.crashing import in_a_child, killed, killing, moments_of
from tests.laws.kinds import KINDS, PARTITIONS, Kind
from tests.laws.test_crash import SLEEP, SLEEPS
from tests.laws.trial import Revision, Trial, examples_of, replays
from tests.laws.world import World

ZOMBIES = {
    "aborts": "AFTER INSERT OR UPDATE OR DELETE ON {0} FOR EACH STATEMENT",
    "commits": "AFTER INSERT OR UPDATE OR DELETE ON {0} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW",
}
"""What becomes of the transaction of a killed client, and the trigger that brings it about."""

every_kind = pytest.mark.parametrize("name", KINDS)
# Hundreds of histories in one test: on a machine that does something else beside it they take their time.
pytestmark = pytest.mark.timeout(1800)


def test_every_strategy_is_on_trial() -> None:
    assert {name.partition(",")[0] for name in KINDS} == set(STRATEGIES)


@every_kind
def test_any_order_ends_alike_and_all_of_it_again_writes_nothing(world_once: World, name: str) -> None:
    @settings(max_examples=examples_of(name))
    @given(data=st.data())
    def example(data: st.DataObject) -> None:
        try_one(world_once, KINDS[name], data)

    example()


def try_one(world: World, kind: Kind, data: st.DataObject) -> None:
    """A drawn history, loaded in a drawn order with repetitions, and then all of it once more."""
    history, order = data.draw(replays(kind))
    trial = Trial(world, kind, data.draw(st.sampled_from(sorted(kind.layouts))), checked=data.draw(st.booleans()))
    in_time = kind.model()
    manifests = [trial.land(batch) for batch in history]
    for batch in history:
        in_time.load(batch.rows, partition=batch.partition, revision=batch.number)

    for number in order:
        batch, before, places = history[number], Counter(trial.rows()), trial.places()
        effects = trial.model.load(batch.rows, partition=batch.partition, revision=batch.number)
        assert trial.load(manifests[number]).effects.as_dict() == effects
        assert trial.rows() == trial.model.in_order()
        if kind.keeps_places:
            stayed = Counter(row for place, row in trial.places().items() if place in places)
            assert before & Counter(trial.rows()) <= stayed, "a row that did not change was written"

    if kind.commutes:
        assert trial.rows() == in_time.in_order()
    written = trial.places()
    for number in dict.fromkeys(order):
        assert trial.load(manifests[number]).effects.touched == 0
    assert trial.places() == written


@every_kind
def test_killed_at_any_moment_and_retried_is_one_clean_run(world_once: World, name: str) -> None:
    kind = KINDS[name]
    first, second = (Revision(PARTITIONS[0], number, rows) for number, rows in enumerate(kind.story, start=1))
    layout = next(iter(kind.layouts))

    def prepared() -> tuple[Trial, Any]:
        trial = Trial(world_once, kind, layout, checked=True)
        trial.load(trial.land(first))
        return trial, trial.land(second)

    trial, manifest = prepared()
    before = trial.rows()
    moments = moments_of(world_once, lambda connect: trial.load(manifest, connect=connect))
    clean = trial.rows()
    once = trial.world.sql(_EFFECTS, [trial.spec.table, manifest.batch_id])
    assert clean != before
    assert moments > 20

    # Options change few statements: a strategy with options is killed at every fourth moment.
    for moment in range(0, moments, 4 if "," in name else 1):
        trial, manifest = prepared()
        pid = in_a_child(lambda: trial.load(manifest, connect=killing(world_once.connect, moment)))  # noqa: B023
        assert killed(pid), moment
        found = trial.rows()
        assert found in (before, clean), moment

        trial.load(manifest)

        assert trial.rows() == clean, moment
        written = trial.world.sql(_EFFECTS, [trial.spec.table, manifest.batch_id])
        assert written[:1] == once, moment
        assert all(row[:3] == (0, 0, 0) for row in written[1:]), moment


_EFFECTS = (
    "SELECT inserted, updated, deleted, unchanged, stale, duplicate, rejected, beyond_batch "
    "FROM airflow_idempotent.events WHERE table_name = %s AND batch_id = %s ORDER BY event_id"
)


# --- a killed client whose query goes on ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KINDS if "," not in name])
@pytest.mark.parametrize("zombie", ZOMBIES)
def test_a_retry_beside_a_zombie_waits_for_it_and_is_one_clean_run(world_once: World, name: str, zombie: str) -> None:
    kind, world = KINDS[name], world_once
    layout = next(iter(kind.layouts))
    ends = []
    for is_killed in (False, True):
        trial = Trial(world, kind, layout)
        trial.load(trial.land(Revision(PARTITIONS[0], 1, kind.story[0])))
        manifest = trial.land(Revision(PARTITIONS[0], 2, kind.story[1]))
        if is_killed:
            slow_down(world, trial.spec.table.removeprefix("public."), zombie)
            pid = in_a_child(lambda: trial.load(manifest))  # noqa: B023
            while not world.sql(f"SELECT {SLEEPS}")[0][0]:
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
            assert killed(pid)
            assert world.sql(f"SELECT {SLEEPS}") == [(True,)]  # its query runs on

        receipt = trial.load(manifest)

        again = is_killed and zombie == "commits"
        assert (receipt.effects.touched == 0) == again
        ends.append((trial.rows(), world.sql(_EFFECTS, [trial.spec.table, manifest.batch_id])[:1]))
    assert ends[0] == ends[1]


def slow_down(world: World, table: str, zombie: str) -> None:
    """Let every write take its time: as it is made, or when it is committed."""
    world.sql(SLEEP.format(table, 0.4))
    kind = "CONSTRAINT TRIGGER" if zombie == "commits" else "TRIGGER"
    world.sql(f"CREATE {kind} slow {ZOMBIES[zombie].format(table)} EXECUTE FUNCTION {table}_sleep()")

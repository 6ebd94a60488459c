"""Crash: killed before or after anything that is sent to the server, then retried = one clean run."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from typing import Any

import pytest

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.session import Session
from airflow_idempotent.spec.load import LoadSpec
from tests.laws.crashing import in_a_child, killed, killing, moments_of
from tests.laws.world import Batch, World
from tests.model.merge import Row

FIRST: list[Row] = [
    {"shop": n, "sku": "x", "ver": 2, "minor": None, "v": "first", "n": None, "d": "p"} for n in (1, 2, 3)
]
SECOND: list[Row] = [
    {"shop": 1, "sku": "x", "ver": 3, "minor": None, "v": "updated", "n": None, "d": "p"},
    {"shop": 2, "sku": "x", "ver": 1, "minor": None, "v": "stale", "n": None, "d": "p"},
    FIRST[2],
    {"shop": 4, "sku": "x", "ver": 1, "minor": None, "v": "inserted", "n": None, "d": "p"},
    {"shop": 4, "sku": "x", "ver": 0, "minor": None, "v": "duplicate", "n": None, "d": "p"},
]
ONCE = Effects(inserted=1, updated=1, unchanged=1, stale=1, duplicate=1)


def prepared(world: World) -> tuple[LoadSpec, Manifest]:
    """A table with the first batch in it, and the second, landed."""
    table = world.table().table
    spec = LoadSpec(
        table=table, unique_key=["shop", "sku"], version=["ver"], checks=[{"unique": ["shop"]}, {"count": 4}]
    )
    world.load(spec.model_copy(update={"checks": ()}), world.land(spec, Batch("2025-05-01", 1, tuple(FIRST))).manifest)
    return spec, world.land(spec, Batch("2025-05-01", 2, tuple(SECOND))).manifest


def events(world: World, spec: LoadSpec, batch: str) -> list[tuple[Any, ...]]:
    return world.sql(
        "SELECT state, inserted, updated FROM airflow_idempotent.events WHERE table_name = %s AND batch_id = %s "
        "ORDER BY event_id",
        [spec.table, batch],
    )


def test_killed_at_any_moment_and_retried_is_one_clean_run(world: World) -> None:
    spec, manifest = prepared(world)
    moments = moments_of(world, lambda connect: world.load(spec, manifest, connect=connect))
    clean = world.rows(spec)
    assert moments > 30

    for moment in range(moments):
        spec, manifest = prepared(world)
        pid = in_a_child(lambda: world.load(spec, manifest, connect=killing(world.connect, moment)))  # noqa: B023
        assert killed(pid), moment

        found = world.rows(spec)  # by then nobody sees half of it
        retry = world.load(spec, manifest)

        assert world.rows(spec) == clean, moment
        written = [(1, 1)] if found != clean else [(1, 1), (0, 0)]
        assert [event[1:] for event in events(world, spec, manifest.batch_id)] == written, moment
        assert retry.effects == (ONCE if found != clean else Effects(unchanged=3, stale=1, duplicate=1)), moment


def test_killed_while_everything_is_made_for_the_first_time(world_once: World) -> None:
    world = world_once
    columns = [{"name": "shop", "data_type": "int"}, {"name": "d", "data_type": "date"}]
    spec = LoadSpec(
        table="fresh.orders",
        unique_key=["shop", "d"],
        columns=columns,
        partition_by={"column": "d", "declarative": True},
    )
    source = world.folder / "in.csv"
    source.write_text("shop,d\n1,2025-05-01\n2,2025-05-01\n")
    manifest = world.land_file(spec, source, "2025-05-01")
    moments = moments_of(world, lambda connect: world.load(spec, manifest, connect=connect))
    clean = world.sql("SELECT tableoid::regclass::text, * FROM fresh.orders ORDER BY 2")

    for moment in range(moments):
        world.sql("DROP SCHEMA fresh CASCADE; DROP SCHEMA airflow_idempotent CASCADE")
        pid = in_a_child(lambda: world.load(spec, manifest, connect=killing(world.connect, moment)))  # noqa: B023
        assert killed(pid), moment

        world.load(spec, manifest)

        assert world.sql("SELECT tableoid::regclass::text, * FROM fresh.orders ORDER BY 2") == clean, moment
        assert world.sql("SELECT sum(inserted) FROM airflow_idempotent.events") == [(2,)], moment


# --- a killed client whose query goes on ------------------------------------------------------------------------------

SLEEP = (
    "CREATE FUNCTION {}_sleep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep({}); RETURN NULL; END $$"
)
SLEEPS = "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')"


@pytest.mark.parametrize(
    ("trigger", "the_zombie_commits"),
    [
        ("AFTER INSERT OR UPDATE ON {0} FOR EACH STATEMENT", False),
        ("AFTER INSERT ON {0} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW", True),
    ],
)
def test_a_retry_beside_a_zombie_waits_for_it(world: World, trigger: str, the_zombie_commits: bool) -> None:
    spec, manifest = prepared(world)
    name = spec.table.removeprefix("public.")
    world.sql(SLEEP.format(name, 0.7))
    kind = "CONSTRAINT TRIGGER" if the_zombie_commits else "TRIGGER"
    world.sql(f"CREATE {kind} slow {trigger.format(name)} EXECUTE FUNCTION {name}_sleep()")
    pid = in_a_child(lambda: world.load(spec, manifest))
    while not world.sql(f"SELECT {SLEEPS}")[0][0]:
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    assert killed(pid)
    assert world.sql(f"SELECT {SLEEPS}") == [(True,)]  # its query runs on

    retry = world.load(spec, manifest)

    assert {key[0]: row["v"] for key, row in world.rows(spec).items()} == {
        1: "updated",
        2: "first",
        3: "first",
        4: "inserted",
    }
    assert retry.effects == (Effects(unchanged=3, stale=1, duplicate=1) if the_zombie_commits else ONCE)
    written = [(1, 1), (0, 0)] if the_zombie_commits else [(1, 1)]
    assert [event[1:] for event in events(world, spec, manifest.batch_id)] == written


def test_the_server_is_told_to_notice_dead_clients(world_once: World) -> None:
    with closing(world_once.connect()) as connection:
        session = Session(connection)
        with session.transaction(), connection.cursor() as cursor:
            cursor.execute("SHOW client_connection_check_interval")
            assert cursor.fetchone() == ("5s",)

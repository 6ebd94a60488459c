"""Notes of cases about runs, their partitions, and several of them at once."""

from __future__ import annotations

from collections.abc import Sequence

from tests.cases.contexts import context
from tests.cases.factory import daily
from tests.cases.landings import whole_batches
from tests.cases.noting import Note, effects, equal, refusal, says
from tests.cases.verdict import Done
from tests.cases.words import instant
from tests.cases.world import World


def never_a_guess(world: World, done: Sequence[Done]) -> None:
    says(done[0], "no data interval", "from_date", "to_date")
    equal([verdict["partition"] for verdict in done[1].value], ["2024-05-01"])
    says(done[2], "from_date must be before to_date")


def interval_timetable(world: World, done: Sequence[Done]) -> None:
    equal([verdict["partition"] for verdict in done[1].value], ["2024-05-02"])
    table, noon = daily(world), instant("2024-05-02")
    run = context("scheduled", logical_date=noon, interval=(noon, noon))
    for operator in table.operators(None):
        text = refusal(lambda operator=operator: operator.execute(dict(run)))
        assert "data interval of this run is empty" in text, text


def snapped(world: World, done: Sequence[Done]) -> None:
    equal([verdict["partition"] for item in done for verdict in item.value], ["2024-05-09", "2024-05-09"])
    equal(world.sql("select distinct partition_key from airflow_idempotent.events"), [("2024-05-09",)])
    equal([(item.partition, item.revision) for item in whole_batches(str(world.lake))], [("2024-05-09", 1)])
    heard = "\n".join(world.memory["heard"])
    chosen = "partition=2024-05-09: contains the logical date"
    assert 0 <= heard.find(chosen) < heard.find("staged table="), heard


def local_day(world: World, done: Sequence[Done]) -> None:
    [manifest] = whole_batches(str(world.lake))
    equal((manifest.start, manifest.end), ("2024-03-10T05:00:00+00:00", "2024-03-11T04:00:00+00:00"))
    equal(done[0].value["row_count"], 2)


def calendar(world: World, done: Sequence[Done]) -> None:
    found = done[2].value
    equal(len([day for day in found["day"] if day.startswith("2024-02-")]), 29)
    equal((found["day"][0], found["day"][-1], len(found["day"])), ("2023-12-31", "2024-03-30", 91))
    equal(found["month"], ["2023-12", "2024-01", "2024-02", "2024-03"])


def the_others_stay(world: World, done: Sequence[Done]) -> None:
    found = done[0].value
    equal(found["dags"], ["public.a"])
    for name, word in (("badkey.yaml", "kyes"), ("broken.yaml", "line 2"), ("empty.yaml", "empty")):
        [text] = [text for file, text in found["errors"].items() if file.endswith(name)]
        assert name in text, text
        assert word in text, text


def both_named(world: World, done: Sequence[Done]) -> None:
    says(done[0], "x.yaml", "y.yaml", "sales_orders")


def one_at_a_time(world: World, done: Sequence[Done]) -> None:
    equal(done[0].value, {"at once": 1, "catchup": True, "loaded": 10})
    equal(world.value("select count(distinct d) || ' days, ' || count(*) || ' rows' from daily"), "10 days, 20 rows")


def one_leaf_a_run(world: World, done: Sequence[Done]) -> None:
    found = done[0].value
    equal((found["planned"], found["leaves"]), (1000, 1))
    assert found["tasks"] <= 1024, found
    equal(world.value("select count(*) from tgt"), str(found["done"]))


def without_xcom(world: World, done: Sequence[Done]) -> None:
    equal({receipt["batch_id"] for receipt in done[0].value}, {"20240501_01"})
    assert not [path for path in world.folder.rglob("*") if "None" in path.name]


def not_backwards(world: World, done: Sequence[Done]) -> None:
    effects(done[1], stale=1)
    equal(world.sql("select watermark from airflow_idempotent.watermarks"), [("9",)])
    attempts = [manifest.attempt for manifest in whole_batches(str(world.lake))]
    equal(attempts, ["case/daily/land#1", "case/backfill/land#1"])


def nothing_left_behind(world: World, done: Sequence[Done]) -> None:
    """X07: what the operators set is gone from the pool's server connection."""
    if "pool" not in world.memory:
        return  # the stand-in cannot be asked
    query = "select name, setting from pg_settings where name in ('TimeZone', 'work_mem', 'enable_hashjoin') order by 1"
    pooled = World(world.case, world.memory["pool"], world.folder)
    pooled.sessions["own"] = pooled.connect()
    try:
        equal(pooled.sql(query), world.sql(query))
        equal(pooled.sql("select relname from pg_class where relpersistence = 't' and relname like 'idem%'"), [])
    finally:
        for session in pooled.sessions.values():
            session.close()


def orphan_was_waited_for(world: World, done: Sequence[Done]) -> None:
    _, name = world.memory["orphan"]
    for word in ("stage_merge#1", "public.tgt", "2024-01-01"):
        assert word in name, name
    equal(world.memory["orphan lived"], "1")
    effects(done[1], inserted=2)


def timeout_is_named(world: World, done: Sequence[Done]) -> None:
    says(done[0], "timeout", "statement_timeout", "nothing was changed")
    effects(done[1], inserted=8)


def commit_is_found(world: World, done: Sequence[Done]) -> None:
    effects(done[1], unchanged=2)


def nobody_queued(world: World, done: Sequence[Done]) -> None:
    waits = world.memory["waits"]
    assert waits, "nobody read beside the swap"
    assert max(waits) < 1, f"a reader waited {max(waits):.1f} s"


def says_by_whom(world: World, done: Sequence[Done]) -> None:
    equal((done[1].value["replayed"], done[1].value["run"]), (True, "case/r1/swap_s"))


NOTES: dict[str, Note] = {
    "D01": the_others_stay,
    "D02": both_named,
    "D04": one_at_a_time,
    "D05": one_leaf_a_run,
    "D07": without_xcom,
    "P04m": local_day,
    "P06m": calendar,
    "P07": never_a_guess,
    "P08": interval_timetable,
    "P09": snapped,
    "S06": says_by_whom,
    "S06m": commit_is_found,
    "S08": nobody_queued,
    "X02": not_backwards,
    "X07": nothing_left_behind,
    "X10m": orphan_was_waited_for,
    "X11": timeout_is_named,
}

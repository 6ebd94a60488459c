"""Notes of cases about incremental queries and their watermarks."""

from __future__ import annotations

from collections.abc import Sequence

from tests.cases.noting import Note, effects, equal, says
from tests.cases.verdict import Done
from tests.cases.world import World

EVENTS = "from airflow_idempotent.events where step = 'stage_merge' and state = 'published'"


def with_its_rows(world: World, done: Sequence[Done]) -> None:
    says(done[0], "tgt", "tgt_id_check")
    equal(world.value("select count(*) from airflow_idempotent.events where watermark is not null"), "1")
    equal(world.memory["watermarks"], ["2024-05-01 11:00:00"])


def never_the_future(world: World, done: Sequence[Done]) -> None:
    equal(world.memory["watermarks"], ["2024-05-01 10:00:00", "2024-05-02 10:00:00"])
    equal(world.sql("select updated_at at time zone 'UTC' from tgt where id = 2"), [("2099-01-01 00:00:00",)])
    equal(world.sql(f"select future_rows::text {EVENTS}"), [("1",), ("1",)])
    heard = "\n".join(world.memory["heard"])
    assert "1 row(s) are dated after the reading" in heard, "nobody was told of the row of 2099"


def overlap(world: World, done: Sequence[Done]) -> None:
    effects(done[2], inserted=2, unchanged=2)
    effects(done[3], unchanged=4)
    equal(world.memory["watermarks"], ["2024-05-01 10:00:05"] * 3)
    lows = world.sql(f"select read_from at time zone 'UTC' {EVENTS} order by event_id")
    equal(lows, [("2024-05-01 00:00:00",), *[("2024-05-01 09:59:05",)] * 2])


def null_cursors(world: World, done: Sequence[Done]) -> None:
    says(done[0], "'ended_at': 1 row(s) of the source have none", "nothing was landed")
    effects(done[1], inserted=2)
    effects(done[2], unchanged=1)
    equal(world.sql(f"select null_cursor_rows::text {EVENTS}"), [("1",), ("1",)])
    equal(world.memory["watermarks"], ["2024-05-01 10:00:00"] * 2)


NOTES: dict[str, Note] = {
    "W01": with_its_rows,
    "W02": never_the_future,
    "W03": overlap,
    "W04": null_cursors,
}

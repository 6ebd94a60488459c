"""Isolate: other keys and partitions keep their bytes; a reader sees the old state or the new one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.world import LAYOUTS, Batch, World, histories, law, rows
from tests.model.merge import Row


@law
@given(history=histories(most=2), batch=st.lists(rows(), max_size=6), layout=st.sampled_from(sorted(LAYOUTS)))
def test_rows_that_a_batch_does_not_change_stay_where_they_are(
    world_once: World, history: list[Batch], batch: list[Row], layout: str
) -> None:
    world = world_once
    spec = world.table(layout)
    for manifest in world.landed(spec, history):
        world.load(spec, manifest)
    before = world.rows(spec)
    places = {(row[4], row[5]): row for row in world.physical(spec)}

    world.load(spec, world.land(spec, Batch("2025-06-01", 1, tuple(batch))).manifest)

    after = world.rows(spec)
    kept = [key for key, row in after.items() if before.get(key) == row]
    still = {(row[4], row[5]): row for row in world.physical(spec)}
    assert {key: still[key] for key in kept} == {key: places[key] for key in kept}
    assert set(before) <= set(after)
    assert {key for key in after if after[key] != before.get(key)} <= {(row["shop"], row["sku"]) for row in batch}


def test_a_reader_sees_all_of_a_batch_or_nothing(world: World) -> None:
    spec = world.table()
    seen: set[tuple[int, int]] = set()
    done = Event()
    row = {"sku": "x", "minor": None, "n": 1, "d": "p"}

    def read() -> None:
        while not done.is_set():
            seen.update(world.sql(f"SELECT count(*), coalesce(sum(ver), 0)::int FROM {spec.table}"))

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for turn in (1, 2, 3):
            content = tuple({"shop": n, "ver": turn, "v": f"{turn}" * 50, **row} for n in range(turn * 1000))
            world.load(spec, world.land(spec, Batch("2025-05-01", turn, content)).manifest)
        done.set()
        reader.result()

    assert seen <= {(turn * 1000, turn * turn * 1000) for turn in (0, 1, 2, 3)}
    assert len(seen) > 1


def test_other_partitions_keep_their_digest(world_once: World) -> None:
    world = world_once
    spec = world.table().model_copy(update={"event_time": "at"})
    world.sql(f"ALTER TABLE {spec.table} ADD at date")
    digests: dict[str, set[str]] = {}
    for turn in range(3):
        for number, day in enumerate(("2025-05-01", "2025-05-02", "2025-05-03")):
            source = world.folder / f"{day}.csv"
            source.write_text(f"shop,sku,ver,minor,at\n{number},x,{turn if number == 1 else 0},,{day}\n")
            receipt = world.load(spec, world.land_file(spec, source, day))
            digests.setdefault(day, set()).add(receipt.measure.digest or "")

    assert [len(found) for found in digests.values()] == [1, 3, 1]

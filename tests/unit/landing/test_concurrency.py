"""Attempts that land one partition at the same moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from airflow_idempotent.errors import SourceChangedError
from airflow_idempotent.landing.retention import retain
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.conftest import WriteSource
from tests.unit.landing.landed import DAY, TABLE, files, land_day, tree, verified


def at_once(*works: Callable[[], object]) -> list[int]:
    """Run each in a process of its own, all let go in one moment; give their exit codes."""
    gate, opener = os.pipe()
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            os.close(opener)
            os.read(gate, 1)
            try:
                work()
            except BaseException:  # noqa: BLE001  # nothing of pytest may run on in the child
                os._exit(1)
            os._exit(0)
        children.append(child)
    os.close(gate)
    os.close(opener)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


@pytest.mark.parametrize("turn", range(10))
def test_the_same_content_lands_once(tmp_path: Path, write_source: WriteSource, turn: int) -> None:
    store = BatchStore(tmp_path / "raw")
    source = files(write_source(b"id\n" + b"1234567\n" * 200_000))

    assert at_once(*[lambda: land_day(store, source)] * 4) == [0] * 4

    assert len(verified(store)) == 1
    assert len(tree(store.root)) == 2


@pytest.mark.parametrize("turn", range(10))
def test_different_contents_land_as_two_whole_batches(tmp_path: Path, write_source: WriteSource, turn: int) -> None:
    store = BatchStore(tmp_path / "raw")
    inputs = [files(write_source(f"id\n{digit}\n" * 100_000, f"{digit}.csv")) for digit in "12"]

    assert at_once(*[lambda source=source: land_day(store, source) for source in inputs]) == [0, 0]

    manifests = verified(store)
    assert [manifest.revision for manifest in manifests] == [1, 2]
    assert {manifest.parts[0].source for manifest in manifests} == {"1.csv", "2.csv"}


def test_the_loser_is_told_when_the_source_must_not_change(tmp_path: Path, write_source: WriteSource) -> None:
    store = BatchStore(tmp_path / "raw")
    first, second = (files(write_source(f"id\n{digit}\n", f"{digit}.csv")) for digit in "12")

    def first_lands(rows: int, size: int) -> None:
        land_day(store, first)

    with pytest.raises(SourceChangedError):
        land_day(store, second, on_source_change="fail", progress=first_lands)

    assert [manifest.parts[0].source for manifest in verified(store)] == ["1.csv"]


def test_an_attempt_overtaken_by_several_batches_that_are_gone_again_lands_above_them(
    tmp_path: Path, write_source: WriteSource
) -> None:
    store = BatchStore(tmp_path / "raw")
    others = iter([files(write_source(f"id\n{digit}\n", f"{digit}.csv")) for digit in "23"])

    def others_land(rows: int, size: int) -> None:
        for other in others:
            land_day(store, other)
        retain(store, TABLE, DAY, 1)

    landed = land_day(store, files(write_source("id\n1\n")), progress=others_land)

    assert landed.manifest.revision == 3
    assert store.latest(TABLE, DAY.key) == landed.manifest


def test_a_reader_sees_whole_batches_only_while_others_land_and_delete(
    tmp_path: Path, write_source: WriteSource
) -> None:
    store = BatchStore(tmp_path / "raw")
    done = Event()
    seen: list[int] = []

    def read() -> None:
        while not done.is_set():
            if (latest := store.latest(TABLE, DAY.key)) is not None:
                store.check_sizes(latest)
                seen.append(latest.revision)

    reader = Thread(target=read)
    reader.start()
    for number in range(60):
        land_day(store, files(write_source(f"id\n{number}\n")))
        retain(store, TABLE, DAY, 30)
    done.set()
    reader.join()

    assert seen == sorted(seen)
    assert seen[-1] >= 1

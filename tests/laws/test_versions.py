"""Daily loads, builds, kills, swaps and rollbacks in any order: each version is what clean loads make of it.

Versions take turns: odd ones have no column ``note``, even ones do, so that each can only be loaded by its own spec.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.version import RollbackOrder
from airflow_idempotent.engine.beside import kept_up
from airflow_idempotent.engine.retiring import versions_of
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import CutoverError, RollbackError, ShadowError, SwapSupersededError, WritesLostError
from airflow_idempotent.operators.cutover import order_of
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.table import TableSpec
from tests.faults import Watched
from tests.loading import Warehouse
from tests.postgres_fixtures import DRIVERS, opening

DAYS = ("2025-05-01", "2025-05-02", "2025-05-03")
NARROW = {"id": "int", "amount": "int", "d": "date"}
WIDE = {**NARROW, "note": "text"}
STEPS = 40
KEPT = ("RETIRED", "ROLLED_BACK")


class Crash(BaseException):
    """The end of a process."""


def spec_of(number: int) -> TableSpec:
    """The spec file when this version is described in it."""
    columns = NARROW if number % 2 else WIDE
    return TableSpec(
        table="orders",
        table_version=number,
        start_date="2025-05-01",
        source={"kind": "files", "path": "/nowhere/{{ partition.key }}.csv"},
        columns=[{"name": name, "data_type": kind} for name, kind in columns.items()],
        unique_key="id",
        partition_by={"column": "d"},
        on_schema_change="ignore",
        publish={"mode": "swap", "expect": {"new_columns": "note", "dropped_columns": "note"}},
    )


@dataclass
class Story:
    """A table, and what each version must hold: by day the amounts of which one is in it, several after a kill."""

    warehouse: Warehouse
    chance: random.Random
    spec: TableSpec
    landed: dict[str, tuple[Manifest, int]] = field(default_factory=dict)
    held: dict[int, dict[str, set[int]]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    @property
    def versions(self) -> dict[int, str]:
        """Where each version stands, by its number."""
        known = versions_of("public.orders", connect=self.warehouse.connect)
        return {item.number: str(item.state) for item in known}

    @property
    def live(self) -> int:
        return next((number for number, state in self.versions.items() if state == "SWAPPED"), 1)

    def tables(self) -> dict[int, str]:
        known = versions_of("public.orders", connect=self.warehouse.connect)
        return {1: "public.orders"} | {item.number: str(item.relation) for item in known if item.state != "PLANNED"}

    @contextmanager
    def killed_somewhere(self, wanted: bool) -> Iterator[Any]:
        """Give a connection that breaks at some moment, if it is wanted."""
        left = [self.chance.randrange(80) if wanted else -1]

        def watch(event: str) -> None:
            left[0] -= event.startswith(("before ", "after "))
            if wanted and left[0] == -1:
                raise Crash(event)

        try:
            yield (lambda: Watched(self.warehouse.connect(), watch))
        except Crash:
            self.done.append("  killed")

    # --- what happens -----------------------------------------------------------------------------------

    def deliver(self, day: str) -> None:
        amount = self.chance.randrange(1_000)
        revision = self.landed[day][0].revision + 1 if day in self.landed else 1
        text = f"id,amount,note,d\n{day[-1]},{amount},n{amount},{day}\n"
        self.landed[day] = self.warehouse.batches.land(self.spec, text, partition=day, revision=revision), amount

    def load(self, day: str, number: int, target: Any, connect: Any) -> None:
        """Load a version, and look at it; what it holds is not known while that goes on."""
        manifest, amount = self.landed[day]
        place = self.held.setdefault(number, {})
        place[day] = place.get(day, {-1}) | {amount}
        load = Load(self.spec, self.spec.partition(day), manifest, target=target)
        stage_merge(load, connect=connect, batches=self.warehouse.batches)
        place[day] = {amount}
        validate(load, connect=connect)

    def daily(self, day: str, connect: Any) -> None:
        """What a run does: the live table first, then what is beside it."""
        self.load(day, self.live, "live", connect)
        for item in kept_up(self.spec, connect=connect):
            self.load(day, item.version.number, item.target, connect)

    def build(self, connect: Any) -> None:
        """A backfill into the version of the file; what was live before is loaded no more."""
        number = self.spec.table_version
        if self.versions.get(number) in KEPT:
            with pytest.raises(ShadowError, match="what was live before is not loaded any more"):
                addressed_as_shadow(self)
        elif self.live != number:
            for day in self.chance.sample(list(self.landed), len(self.landed)):
                self.load(day, number, "shadow", connect)

    def cut_over(self, connect: Any) -> None:
        before = self.now()
        try:
            if not swap(order_of(self.spec), connect=connect).replayed:
                assert before <= self.now(), "readers see what they saw before the swap"
                self.done.append("  swapped")
        except (CutoverError, ShadowError, SwapSupersededError):
            pass

    def go_back(self, connect: Any) -> None:
        before = self.now()
        try:
            done = rollback(RollbackOrder(self.spec.live), connect=connect)
        except (RollbackError, WritesLostError):
            return
        if not done.replayed:
            assert before <= self.now(), "nothing is lost"
            self.done.append("  rolled back")

    def now(self) -> set[tuple[Any, ...]]:
        """What readers see of what all versions have."""
        return set(self.warehouse.sql("SELECT id, amount FROM orders"))

    # --- what must be so --------------------------------------------------------------------------------

    def check(self) -> None:
        for number, table in self.tables().items():
            columns = "id, amount" + ("" if number % 2 else ", note")
            if self.warehouse.sql("SELECT to_regclass(%s)", [table]) == [(None,)]:
                continue
            rows = {int(row[0]): row[1:] for row in self.warehouse.sql(f"SELECT {columns} FROM {table}")}
            for day, amounts in self.held.get(number, {}).items():
                found = rows.pop(int(day[-1]), (-1,))
                assert found[0] in amounts, (number, day, self.done)
                assert found[1:] == (() if number % 2 or found[0] == -1 else (f"n{found[0]}",)), (number, day)
                self.held[number][day] = {found[0]}
            assert not rows, (number, rows, self.done)


told: Counter[str] = Counter()
"""What has come about in all the stories."""


@pytest.mark.parametrize("seed", range(8))
def test_every_version_is_what_clean_loads_make_of_it(seed: int, database: str) -> None:
    with opening(DRIVERS[seed % 2], database) as connect:
        story = Story(Warehouse(connect), random.Random(seed), spec_of(1))
        for day in DAYS[:2]:
            story.deliver(day)
            story.daily(day, connect)
        story.spec = spec_of(2)

        for _ in range(STEPS):
            act = story.chance.choices(["daily", "build", "swap", "back", "next"], [4, 4, 4, 2, 2])[0]
            day, dies = story.chance.choice(DAYS), story.chance.random() < 0.3
            story.done.append(f"{act} {day}")
            with story.killed_somewhere(dies) as connecting:
                match act:
                    case "daily":
                        story.deliver(day)
                        story.daily(day, connecting)
                    case "build":
                        story.build(connecting)
                    case "swap":
                        story.cut_over(connecting)
                    case "back":
                        story.go_back(connecting)
                    case _:
                        raise_version(story)
            story.check()

        finish(story, connect)
        told.update(line.strip().partition(" ")[0] for line in story.done if line.startswith("  "))


def addressed_as_shadow(story: Story) -> None:
    manifest, _ = next(iter(story.landed.values()))
    load = Load(story.spec, story.spec.partition(manifest.partition), manifest, target="shadow")
    stage_merge(load, connect=story.warehouse.connect, batches=story.warehouse.batches)


def raise_version(story: Story) -> None:
    """Describe a version that there never was, once the one in the file was live."""
    if story.versions.get(story.spec.table_version) in ("SWAPPED", *KEPT):
        story.spec = spec_of(max(story.versions) + 1)


def finish(story: Story, connect: Any) -> None:
    """Each day is run once more, what is built is built to its end: then all that is loaded holds the same."""
    story.build(connect)
    for day in story.landed:
        story.daily(day, connect)
    story.check()
    clean = {day: {amount} for day, (_, amount) in story.landed.items()}
    beside = [item.version.number for item in kept_up(story.spec, connect=connect)]
    for number in (story.live, *beside):
        assert story.held[number] == clean, (number, story.done)


def test_the_stories_have_all_of_it() -> None:
    if sum(told.values()) > 50:  # all of them were told in this process
        assert min(told["killed"], told["swapped"], told["rolled"]) >= 4

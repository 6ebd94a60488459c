"""One turn of each contender: a first load, a second one, and what they did to the table."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import contenders
from contenders import ContenderError, Run
from warehouse import Image, Warehouse
from workload import DAYS, FIRST_DAY, Workload

TARGETS = ("default", "ours")
"""A table created as anybody would, and one that our product created from the spec."""
EXPECTED = "expected"
PARTITION = (FIRST_DAY + dt.timedelta(days=DAYS)).isoformat()

Key = tuple[str, str, str]
"""Target, contender, phase."""


@dataclass
class Figures:
    """Everything measured, by target, contender and phase."""

    seconds: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Processor seconds of client and session: what the neighbours of a shared machine disturb less."""
    wal: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))
    touched: dict[Key, int] = field(default_factory=dict)
    steps: dict[Key, dict[str, float]] = field(default_factory=dict)
    """Seconds of land, stage_merge and validate, of the last turn."""

    def median(self, target: str, contender: str, phase: str) -> float:
        return statistics.median(self.seconds[target, contender, phase])

    def last(self, target: str) -> str:
        """The last turn, in one line."""
        turns = {key: values[-1] for key, values in self.seconds.items() if key[0] == target}
        return ", ".join(f"{contender} {phase} {seconds:.2f} s" for (_, contender, phase), seconds in turns.items())


@dataclass
class Bench:
    """The databases, the files, and who takes turns on them."""

    warehouse: Warehouse
    psql: Path
    work: Workload
    folder: Path
    figures: Figures
    expected: Image = ()

    def prepare(self) -> None:
        """One template per target, with the ledger in it, as it is after the first day of a table's life."""
        for database in (EXPECTED, *TARGETS):
            self.warehouse.create(database)
        self.warehouse.fill(EXPECTED, self.work.expected)
        self.expected = self.warehouse.image(EXPECTED)
        self.warehouse.fill("default", self.work.target)
        for target, before in zip(TARGETS, (self.work.first_day, self.work.target), strict=True):
            self._deliver(target, FIRST_DAY.isoformat(), before)
            contenders.ours(self.warehouse.dsn(target), FIRST_DAY.isoformat(), self.folder / target)
            self._deliver(target, PARTITION, self.work.batch)
            self.warehouse.finish(target)

    def _deliver(self, target: str, partition: str, file: Path) -> None:
        folder = self.folder / target / "inbox" / partition
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        os.link(file, folder / file.name)

    def limit(self, target: str, *, checked: bool) -> None:
        """The hand-written script, twice."""
        self.warehouse.restore(target)
        for phase in ("first", "rerun"):
            self._turn((target, "limit", phase), self._by_hand)
            if checked:
                self._compare(target, "limit", phase)
            self.warehouse.read()

    def _by_hand(self) -> Run:
        return contenders.limit(self.psql, self.warehouse.dsn(), self.work.batch)

    def ours(self, target: str, *, checked: bool) -> None:
        """Our ``run``, twice, and once more allowed to skip."""
        self.warehouse.restore(target)
        shutil.rmtree(self.folder / target / "lake" / "public.orders" / f"partition={PARTITION}", ignore_errors=True)
        first = self.work.effects
        again = {"unchanged": sum(first[name] for name in ("inserted", "updated", "unchanged"))}
        again |= {name: first[name] for name in ("stale", "duplicate")}
        for phase, effects in (("first", first), ("rerun", again), ("skip", again)):
            key = (target, "ours", phase)
            words = ["--skip-unchanged"] if phase == "skip" else []
            run = self._counted(key, words) if checked and phase != "first" else self._load(key, words)
            self.figures.steps[key] = run.partition["seconds"]
            # A skipped load answers with the receipt of the load before.
            if run.effects != effects:
                raise ContenderError(f"{target} target, {phase}: expected {effects}, got {run.effects}")
            if checked:
                self._compare(target, "ours", phase)
            self.warehouse.read()

    def _counted(self, key: Key, words: list[str]) -> Run:
        with self.warehouse.counting_touched() as touched:
            run = self._load(key, words)
        self.figures.touched[key] = touched[0]
        return run

    def _load(self, key: Key, words: list[str]) -> Run:
        return self._turn(key, lambda: contenders.ours(self.warehouse.dsn(), PARTITION, self.folder / key[0], *words))

    def _turn(self, key: Key, load: Callable[[], Run]) -> Run:
        wal, cpu = self.warehouse.wal(), self.warehouse.cpu()
        run = load()
        self.figures.wal[key].append(self.warehouse.wal() - wal)
        self.figures.cpu[key].append(self.warehouse.cpu() - cpu + run.cpu)
        self.figures.seconds[key].append(run.seconds)
        return run

    def _compare(self, target: str, contender: str, phase: str) -> None:
        found = self.warehouse.image()
        if found != self.expected:
            turn = f"{target} target, {contender}, {phase}"
            raise ContenderError(f"{turn}: the table is {found}, expected {self.expected}")

"""What ``make bench`` measures: a first load, a second one, and what they did to the table."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import contenders
from contenders import ContenderError, Run, deliver
from rows import DAYS, FIRST_DAY
from turns import Key, Turns
from workload import Workload

TARGETS = ("default", "ours")
"""A table created as anybody would, and one that our product created from the spec."""
EXPECTED = "expected"
SEEDED = FIRST_DAY.isoformat()
PARTITION = (FIRST_DAY + dt.timedelta(days=DAYS)).isoformat()


@dataclass
class Bench(Turns):
    """The databases, the files, and who takes turns on them."""

    psql: Path = field(kw_only=True)
    work: Workload = field(kw_only=True)
    folder: Path = field(kw_only=True)
    targets: tuple[str, ...] = TARGETS

    def prepare(self) -> None:
        """One template per target, with the ledger in it, as it is after the first day of a table's life."""
        for database in (EXPECTED, *self.targets):
            self.warehouse.create(database)
        self.warehouse.fill(EXPECTED, self.work.expected)
        self.expected = self.warehouse.image(EXPECTED)
        for target in self.targets:
            before = self.work.target
            if target == "default":
                self.warehouse.fill(target, before)
                before = self.work.first_day
            deliver(self.folder / target, SEEDED, before)
            contenders.ours(self.warehouse.dsn(target), SEEDED, self.folder / target)
            deliver(self.folder / target, PARTITION, self.work.batch)
            self.warehouse.finish(target)

    def limit(self, target: str, *, checked: bool) -> None:
        """The hand-written script, twice."""
        self.warehouse.restore(target)
        for phase in ("first", "rerun"):
            key = (target, "limit", phase)
            self.turn(key, self._by_hand)
            if checked:
                self.compare(key)
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
        for phase, effects in (("first", first), ("rerun", again), ("skip", {})):
            key = (target, "ours", phase)
            words = ["--skip-unchanged"] if phase == "skip" else []
            run = self._load(key, words, counted=checked and phase != "first")
            if run.effects != effects:
                raise ContenderError(f"{target} target, {phase}: expected {effects}, got {run.effects}")
            if checked:
                self.compare(key)
            self.warehouse.read()

    def _load(self, key: Key, words: list[str], *, counted: bool) -> Run:
        dsn, folder = self.warehouse.dsn(), self.folder / key[0]
        return self.our_turn(key, lambda: contenders.ours(dsn, PARTITION, folder, *words), counted=counted)

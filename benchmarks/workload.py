"""The benchmark's data: a table of orders, and one big day of changes to it. The same arguments give the same bytes.

A day is 60 % updates of rows that exist (85 % newer, 10 % older than the table's row, which must lose,
5 % delivered again unchanged), 30 % new keys, and 10 % second copies of those keys (half older, half
newer; no ties), shuffled. What must come of it is computed by DuckDB from the files alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import expected
import numpy as np
from rows import DAY_US, DAYS, Rows, concat, midnight, payload, slices, take, write

COLUMNS = {
    "order_id": "bigint",
    "customer_id": "integer",
    "status": "varchar",
    "amount": "decimal(12,2)",
    "note": "varchar",
    "order_date": "date",
    "updated_at": "timestamptz",
}
EDITION = 1
"""Goes up with every change that changes the bytes."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Where the files are, and how big. CSV as COPY likes it: header, NULL empty, strings quoted."""

    folder: Path
    target_rows: int = 2_000_000
    batch_rows: int = 500_000

    @property
    def target(self) -> Path:
        return self.folder / "target.csv"

    @property
    def first_day(self) -> Path:
        """The target's rows of FIRST_DAY: a delivery that must change nothing."""
        return self.folder / "first_day.csv"

    @property
    def batch(self) -> Path:
        return self.folder / "batch.csv"

    @property
    def expected(self) -> Path:
        """The table after the batch."""
        return self.folder / "expected.csv"

    @property
    def effects(self) -> dict[str, int]:
        """What a correct load counts."""
        answer: dict[str, int] = json.loads((self.folder / "effects.json").read_text())
        return answer

    def facts(self) -> dict[str, Any]:
        """How much there is of everything."""
        size = self.batch.stat().st_size
        sizes = {"target_rows": self.target_rows, "batch_rows": self.batch_rows}
        return {**sizes, "batch_bytes": size, "effects": self.effects}

    def make(self) -> None:
        """Write the files; those of the same size and edition are kept."""
        done = self.folder / "done.json"
        what = {"edition": EDITION, **asdict(self), "folder": self.folder.name}
        if done.exists() and json.loads(done.read_text()) == what:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        done.unlink(missing_ok=True)
        rows = target_rows(self.target_rows)
        write(self.target, slices(rows))
        write(self.first_day, [take(rows, rows["day"] == 0)])
        write(self.batch, slices(day_of_changes(rows, self.batch_rows)))
        effects = expected.compute(COLUMNS, before=self.target, batch=self.batch, after=self.expected)
        (self.folder / "effects.json").write_text(json.dumps(effects))
        done.write_text(json.dumps(what))


def target_rows(count: int) -> Rows:
    """The table before: keys 1 … count, spread evenly over DAYS days."""
    rng = np.random.default_rng([1, count])
    ids = np.arange(1, count + 1)
    day = (ids - 1) * DAYS // count
    at = midnight(day) + rng.integers(0, 5 * DAY_US, count)
    return {"order_id": ids, "day": day, "at": at, **payload(rng, count)}


def day_of_changes(target: Rows, count: int) -> Rows:
    """The batch: ``count`` rows for the day after the target's last."""
    rng = np.random.default_rng([2, count])
    size = len(target["order_id"])
    known = take(target, np.sort(rng.choice(size, count * 6 // 10, replace=False)))
    both = concat([changed(rng, known), new_rows(rng, size + 1, count * 3 // 10)])
    copies = take(both, rng.choice(len(both["order_id"]), count // 10, replace=False))
    length = len(copies["order_id"])
    copies |= payload(rng, length)
    copies["at"] = copies["at"] + rng.integers(1, DAY_US, length) * np.where(rng.random(length) < 0.5, 1, -1)
    everything = concat([both, copies])
    return take(everything, rng.permutation(len(everything["order_id"])))


def changed(rng: np.random.Generator, known: Rows) -> Rows:
    """Other versions of rows that exist: 85 % newer, 10 % older, 5 % the same."""
    count = len(known["order_id"])
    kind, shift = rng.random(count), rng.integers(1, 10 * DAY_US, count)
    moved = known["at"] + np.where(kind < 0.10, -shift, shift)
    rows = {**known, **payload(rng, count), "at": moved}
    same = (kind >= 0.10) & (kind < 0.15)
    return {name: np.where(same, known[name], values) for name, values in rows.items()}


def new_rows(rng: np.random.Generator, first_id: int, count: int) -> Rows:
    """Rows of the day after the target's last."""
    day = np.full(count, DAYS)
    ids = np.arange(first_id, first_id + count)
    at = midnight(day) + rng.integers(0, DAY_US, count)
    return {"order_id": ids, "day": day, "at": at, **payload(rng, count)}


def write_new(path: Path, megabytes: int) -> None:
    """Write a file of at least that size, all keys new."""

    def parts() -> Iterator[Rows]:
        number = 0
        while number == 0 or path.stat().st_size < megabytes * 1_000_000:
            yield new_rows(np.random.default_rng([3, number]), number * 50_000 + 1, 50_000)
            number += 1

    write(path, parts())

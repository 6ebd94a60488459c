"""The benchmark's data: a table of orders, and one big day of changes to it. The same arguments give the same bytes.

A day is 60 % updates of rows that exist (85 % newer, 10 % older than the table's row, which must lose,
5 % delivered again unchanged), 30 % new keys, and 10 % second copies of those keys (half older, half
newer; no ties), shuffled. What must come of it is computed by DuckDB from the files alone.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import expected
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

COLUMNS = {
    "order_id": "bigint",
    "customer_id": "integer",
    "status": "varchar",
    "amount": "decimal(12,2)",
    "note": "varchar",
    "order_date": "date",
    "updated_at": "timestamptz",
}
FIRST_DAY = dt.date(2024, 1, 1)
DAYS = 60
STATUS = np.array(["new", "paid", "packed", "shipped", "returned", "closed"])
WORDS = (
    *("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"),
    *("india", "juliet", "kilo", "lima", "mike", "november", "oscar"),
)
EDITION = 1
"""Goes up with every change that changes the bytes."""

DAY_US = 86_400_000_000
FIRST_DAY_NUMBER = (FIRST_DAY - dt.date(1970, 1, 1)).days
SLICE = 500_000

Rows = dict[str, np.ndarray]
"""Columns of equal length; ``cents`` -1 is NULL, ``status`` and ``note`` are places in STATUS and NOTES."""


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


def note_pool(size: int = 65_536) -> pa.Array:
    """Free text with everything that breaks careless CSV code; share by share, the first that is hit."""
    twists = [
        (0.05, lambda text: None),
        (0.01, lambda text: ""),
        (0.03, lambda text: text.replace(" ", ", ", 2)),
        (0.02, lambda text: text.replace(" ", ' "quoted" ', 1)),
        (0.02, lambda text: text.replace(" ", "\n", 2)),
        (0.005, lambda text: text.replace(" ", "\r\n", 1)),
        (0.05, lambda text: text.replace(" ", " é日本語🚀 ", 1)),
        (0.005, lambda text: text.replace(" ", " \\n\\t\\ ", 1)),
        (0.002, lambda text: f"  {text}  "),
        (0.002, lambda text: "NULL"),
        (0.002, lambda text: "NA"),
        (0.002, lambda text: "\\N"),
    ]
    bounds = np.cumsum([share for share, _ in twists])
    rng = np.random.default_rng(7)
    words = rng.integers(0, len(WORDS), (size, 7))
    which = np.searchsorted(bounds, rng.random(size), side="right")
    plain = (" ".join(WORDS[place] for place in line) for line in words)
    return pa.array([twists[n][1](text) if n < len(twists) else text for text, n in zip(plain, which, strict=True)])


NOTES = note_pool()


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


def payload(rng: np.random.Generator, count: int) -> Rows:
    """Random values for all that is neither key nor time."""
    cents = rng.integers(100, 100_000_000, count)
    cents[rng.random(count) < 0.005] = -1
    return {
        "customer": rng.integers(1, 500_000, count),
        "status": rng.integers(0, len(STATUS), count),
        "cents": cents,
        "note": rng.integers(0, len(NOTES), count),
    }


def midnight(day: np.ndarray) -> np.ndarray:
    """Begin of a day, in microseconds."""
    start: np.ndarray = (FIRST_DAY_NUMBER + day) * DAY_US
    return start


def concat(parts: Sequence[Rows]) -> Rows:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def take(rows: Rows, which: np.ndarray | slice) -> Rows:
    return {name: values[which] for name, values in rows.items()}


def slices(rows: Rows) -> Iterator[Rows]:
    for start in range(0, len(rows["order_id"]), SLICE):
        yield take(rows, slice(start, start + SLICE))


def write(path: Path, parts: Iterable[Rows]) -> None:
    """Write a CSV file with a header."""
    with pa.OSFile(str(path), "wb") as file:
        for number, part in enumerate(parts):
            options = pacsv.WriteOptions(include_header=number == 0, quoting_style="needed")
            pacsv.write_csv(as_arrow(part), file, options)


def write_new(path: Path, megabytes: int) -> None:
    """Write a file of at least that size, all keys new."""

    def parts() -> Iterator[Rows]:
        number = 0
        while number == 0 or path.stat().st_size < megabytes * 1_000_000:
            yield new_rows(np.random.default_rng([3, number]), number * 50_000 + 1, 50_000)
            number += 1

    write(path, parts())


def as_arrow(rows: Rows) -> pa.Table:
    amounts = [None if cents < 0 else f"{cents // 100}.{cents % 100:02d}" for cents in rows["cents"].tolist()]
    columns = (
        pa.array(rows["order_id"], pa.int64()),
        pa.array(rows["customer"], pa.int64()),
        pa.array(STATUS[rows["status"]]),
        pa.array(amounts, pa.string()).cast(pa.decimal128(12, 2)),
        NOTES.take(pa.array(rows["note"])),
        pa.array((FIRST_DAY_NUMBER + rows["day"]).astype("int32"), pa.date32()),
        pa.array(rows["at"], pa.timestamp("us", "UTC")),
    )
    return pa.table(dict(zip(COLUMNS, columns, strict=True)))

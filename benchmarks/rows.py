"""Columns of random values, and the CSV files that they become. The same arguments give the same bytes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

FIRST_DAY = dt.date(2024, 1, 1)
DAYS = 60
STATUS = np.array(["new", "paid", "packed", "shipped", "returned", "closed"])
WORDS = (
    *("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"),
    *("india", "juliet", "kilo", "lima", "mike", "november", "oscar"),
)

DAY_US = 86_400_000_000
FIRST_DAY_NUMBER = (FIRST_DAY - dt.date(1970, 1, 1)).days
SLICE = 500_000

EXTRAS = {"line_no": pa.int32(), "op": pa.string(), "commit_version": pa.int64()}

Rows = dict[str, np.ndarray]
"""Columns of equal length; ``cents`` -1 is NULL, ``status`` and ``note`` are places in STATUS and NOTES."""


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


def as_arrow(rows: Rows) -> pa.Table:
    """The columns as the table has them, and after them those of EXTRAS that there are."""
    amounts = [None if cents < 0 else f"{cents // 100}.{cents % 100:02d}" for cents in rows["cents"].tolist()]
    columns = {
        "order_id": pa.array(rows["order_id"], pa.int64()),
        "customer_id": pa.array(rows["customer"], pa.int64()),
        "status": pa.array(STATUS[rows["status"]]),
        "amount": pa.array(amounts, pa.string()).cast(pa.decimal128(12, 2)),
        "note": NOTES.take(pa.array(rows["note"])),
        "order_date": pa.array((FIRST_DAY_NUMBER + rows["day"]).astype("int32"), pa.date32()),
        "updated_at": pa.array(rows["at"], pa.timestamp("us", "UTC")),
    }
    return pa.table(columns | {name: pa.array(rows[name], kind) for name, kind in EXTRAS.items() if name in rows})

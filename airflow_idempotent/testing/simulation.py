"""What a simulator gives: batches to load, and the rows that they must end in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.landing.csv_text import CsvText
from airflow_idempotent.testing.batches import Batch


@dataclass(frozen=True, slots=True)
class Simulation:
    """Batches in the order of their landing, and the end state as plain Python knows it, by key.

    Iterating gives the batches, so that a simulation can be passed where batches are asked for.
    """

    batches: tuple[Batch, ...]
    end_state: Mapping[Any, Mapping[str, Any]]

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)

    def write(self, folder: str | Path) -> list[Path]:
        """Write each batch as ``<folder>/<partition>/<revision>.csv``; equal simulations give equal bytes.

        Other files are left alone; a second run writes the same again.
        """
        text = CsvText(CsvFormat())
        columns = tuple(dict.fromkeys(name for batch in self.batches for name in batch.columns))
        revisions: dict[str, int] = {}
        written = []
        for batch in self.batches:
            number = revisions[batch.partition] = revisions.get(batch.partition, 0) + 1
            path = Path(folder) / batch.partition / f"{number:02d}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = ([row.get(name) for name in columns] for row in batch.rows or ())
            path.write_bytes(text.header(columns) + text.rows(rows))
            written.append(path)
        return written


def first_day(start: str | date) -> datetime:
    """Midnight in UTC of that day."""
    day = date.fromisoformat(start) if isinstance(start, str) else start
    return datetime.combine(day, time.min, UTC)


def day_of(instant: datetime) -> str:
    """The key of the day it lies in."""
    return instant.date().isoformat()


def checked(shares: Mapping[str, float], counts: Mapping[str, int]) -> None:
    """Refuse what no simulation can be made of.

    Raises:
        ValueError: a share is not between 0 and 1, or a count is below 1.
    """
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"{name} is a share between 0 and 1, not {share}")
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1, not {count}")


DAY = timedelta(days=1)

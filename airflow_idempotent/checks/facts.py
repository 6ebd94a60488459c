"""What a check may know besides the rows: gathered once, only for checks that ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlglot import exp

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.profile import Profile
from airflow_idempotent.core.verdict import Number


class Need(StrEnum):
    """What has to be looked up in the ledger before a check can judge."""

    PREVIOUS = "previous"
    SAME_WEEKDAY = "same_weekday"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier publication to compare with, by the scheduler or by hand: a backfill is never one.

    ``rows`` are counted where the check looks: of the batch before the gate, of the partition in validate.
    ``observed`` is what the checks measured of it there, by their labels; ``profile`` how the values of the partition
    were spread, where that was kept and a check asks.
    """

    partition: str
    batch_id: str
    rows: int | None
    digest: str | None = None
    observed: Mapping[str, Number | None] = field(default_factory=dict)
    profile: Profile | None = None
    event_id: int = 0

    def __str__(self) -> str:
        return f"{self.partition} (batch {self.batch_id})"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The load that made the partition what it is: what its checks ``expected``, by their labels.

    ``is_all`` when no rows of other batches are in the partition.
    """

    expected: Mapping[str, Number]
    is_all: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known besides the rows. Nothing here depends on the clock.

    ``shape`` is the table that is looked at, ``table`` what the ledger calls it, where that is
    another name: that of a shadow's live table.
    ``published`` is true of the partition as readers see it, false of a batch before the gate.
    ``landed_rows`` are those of the manifest; ``previous`` is the partition's last publication of other content,
    ``same_weekday`` the last publication of the same partition one to four weeks earlier; None where there is none.
    ``columns`` are those that the rows have, ``unique_key`` and ``partition_column`` what the spec says of them.
    ``source`` are the rows as they landed, before the gate; ``loaded`` says what is known of them afterwards.
    ``others`` are shapes of other tables that checks name, ``partitions`` publications of partitions that they name.
    """

    partition: Partition
    shape: TableShape
    table: str = ""
    published: bool = False
    batch_id: str = ""
    cutoff: datetime | None = None
    landed_rows: int | None = None
    previous: Baseline | None = None
    same_weekday: Baseline | None = None
    columns: tuple[str, ...] = ()
    unique_key: tuple[str, ...] = ()
    partition_column: str | None = None
    source: exp.Table | None = None
    loaded: Loaded | None = None
    others: Mapping[str, TableShape] = field(default_factory=dict)
    partitions: Mapping[str, Baseline] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the ledger calls the table."""
        return self.table or str(self.shape.relation)

    @property
    def reference(self) -> datetime:
        """The instant that data is old against: the end of the partition, or the cutoff if that was earlier."""
        return min(self.partition.end, self.cutoff or self.partition.end)

    @property
    def horizon(self) -> datetime:
        """The instant after which nothing can have happened yet: the cutoff, or the end of the partition if later."""
        return max(self.partition.end, self.cutoff or self.partition.end)

    def as_compared(self, moment: datetime, column: str) -> date | datetime:
        """An instant as a column of the table compares it: date, local or absolute time."""
        return self.partition.as_compared(moment, self.shape[column].data_type)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the scans gave for one check: how many ``rows`` it looked at, and its aggregates in their order."""

    rows: int
    values: tuple[Any, ...]
    facts: Facts

    def number(self, place: int = 0) -> Number:
        """An aggregate as a number; 0 where the database says NULL."""
        value = self.values[place] if place < len(self.values) else None
        return 0 if value is None else plain(value)

    def count(self, place: int = 0) -> int:
        """An aggregate that counts."""
        return int(self.number(place))


def plain(value: Any) -> Number:
    """A number of the database, whole where it is whole."""
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return value if isinstance(value, int | float | Decimal) else Decimal(value)

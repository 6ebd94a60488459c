"""Rows of a batch that no rule can load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class BadRowError(IdempotentError):
    """A value of the batch was refused while it was read; ``row`` counts those of files without lines, from 1."""

    anchor: ClassVar[str] = "bad-row"
    table: str
    partition: str
    file: str
    line: int | None
    column: str | None
    reason: str
    row: int | None = None

    @property
    def headline(self) -> str:
        where = (
            self.file
            + (f" line {self.line}" if self.line else "")
            + (f" row {self.row}" if self.row else "")
            + (f" column {self.column!r}" if self.column else "")
        )
        return f"{self.table} {self.partition}: {where}: {self.reason}. Nothing was loaded."

    @property
    def next_move(self) -> str:
        return "Correct the file at its source (or its format options in the spec), then clear 'land' and what follows."


@dataclass(eq=False, kw_only=True)
class NullKeyError(IdempotentError):
    """Rows have NULL in a column of the unique key, so no rule could say which row they are."""

    anchor: ClassVar[str] = "null-key"
    table: str
    partition: str
    columns: tuple[tuple[str, int], ...]

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: NULL in the unique key, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [f"column {name!r}: {count} row(s)" for name, count in self.columns]

    @property
    def next_move(self) -> str:
        return "Correct the rows at their source, or choose a unique_key whose columns are always filled."


@dataclass(eq=False, kw_only=True)
class NullVersionError(IdempotentError):
    """Rows have NULL as their version, and the strategy keeps versions on a time axis where NULL has no place."""

    anchor: ClassVar[str] = "null-version"
    table: str
    partition: str
    columns: tuple[tuple[str, int], ...]

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: NULL as version, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [f"column {name!r}: {count} row(s)" for name, count in self.columns]

    @property
    def next_move(self) -> str:
        return "Correct the rows at their source, or choose a version column that is always filled."


@dataclass(eq=False, kw_only=True)
class OutsidePartitionError(IdempotentError):
    """Rows lie outside the partition that the batch would replace, so another partition holds them too."""

    anchor: ClassVar[str] = "outside-partition"
    table: str
    partition: str
    column: str
    count: int
    least: str | None
    greatest: str | None

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.count:,} row(s) lie outside the partition, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        if self.least is None:
            return [f"column {self.column!r} is NULL in all rows"]
        return [f"column {self.column!r}: from {self.least} to {self.greatest}, or NULL"]

    @property
    def next_move(self) -> str:
        return "Deliver each partition its own rows, or choose a strategy that does not replace the partition."


@dataclass(eq=False, kw_only=True)
class EventTimeMissingError(IdempotentError):
    """Rows have no time that says which partition they belong to."""

    anchor: ClassVar[str] = "event-time-missing"
    table: str
    partition: str
    column: str
    count: int

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.count:,} row(s) have no {self.column!r}, nothing was loaded."

    @property
    def next_move(self) -> str:
        return "Correct the rows at their source, or set 'on_event_time_missing: exclude' to leave them out."


@dataclass(eq=False, kw_only=True)
class TooManyRejectedError(IdempotentError):
    """More rows of the batch are bad than the spec allows to set aside."""

    anchor: ClassVar[str] = "too-many-rejected"
    table: str
    partition: str
    rejected: int
    rows: int
    max_rows: int | None
    max_share: float
    samples: tuple[str, ...]

    @property
    def headline(self) -> str:
        most = f"{self.max_rows:,}" if self.max_rows is not None else f"{self.max_share:.2%}"
        where = f"{self.table} {self.partition}"
        return f"{where}: {self.rejected:,} of {self.rows:,} rows are bad, {most} are allowed; nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return self.samples

    @property
    def next_move(self) -> str:
        return "Correct the file at its source, or raise 'reject.max_rows' or 'reject.max_share', then clear this task."


@dataclass(eq=False, kw_only=True)
class RepeatedKeyError(IdempotentError):
    """The target holds keys of the batch more than once, so no rule could say which row is which."""

    anchor: ClassVar[str] = "repeated-key"
    table: str
    partition: str
    unique_key: tuple[str, ...]
    count: int

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.count:,} keys of the batch are twice in the target; nothing done."

    @property
    def next_move(self) -> str:
        key = ", ".join(self.unique_key)
        return f"Remove them with 'airflow-idempotent dedupe', add a unique index on ({key}), then clear this task."


@dataclass(eq=False, kw_only=True)
class TieError(IdempotentError):
    """Rows of one key and version differ, and the spec says that their content must not decide."""

    anchor: ClassVar[str] = "tie"
    table: str
    partition: str
    unique_key: tuple[str, ...]
    in_batch: int
    with_target: int
    samples: tuple[str, ...]

    @property
    def headline(self) -> str:
        count = self.in_batch + self.with_target
        return f"{self.table} {self.partition}: {count:,} key(s) have two rows of one version, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        where = (("in the batch", self.in_batch), ("against the target", self.with_target))
        lines = [f"{words}: {count:,} key(s)" for words, count in where if count]
        return [*lines, *(f"({', '.join(self.unique_key)}) = ({key})" for key in self.samples)]

    @property
    def next_move(self) -> str:
        return "Add a column to version that orders them, or set strategy.on_tie to 'content', then clear this task."


@dataclass(eq=False, kw_only=True)
class PrecisionError(IdempotentError):
    """Values have more decimal places than the target column keeps; they would be rounded silently."""

    anchor: ClassVar[str] = "precision"
    table: str
    partition: str
    columns: tuple[tuple[str, str, int], ...]

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: values would be rounded by the target, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [
            f"column {name!r} is {data_type}: {count} value(s) have more places"
            for name, data_type, count in self.columns
        ]

    @property
    def next_move(self) -> str:
        return "Widen the column (ALTER TABLE … ALTER COLUMN … TYPE …) or round at the source, then clear this task."

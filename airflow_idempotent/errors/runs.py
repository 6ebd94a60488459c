"""Runs that do not say, or say wrongly, which partitions they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class NoPartitionError(IdempotentError):
    """A run says neither by its data interval nor by its params which partitions it means."""

    anchor: ClassVar[str] = "no-partition"
    table: str
    reason: str = "this run has no data interval and no params that name partitions"
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.table}: {self.reason}, nothing was run."

    @property
    def next_move(self) -> str:
        example = '{"from_date": "2025-05-01", "to_date": "2025-05-02"}'
        return self.hint or f"Trigger it with {example} (half-open), or with a logical date."


@dataclass(eq=False, kw_only=True)
class ParamsError(IdempotentError):
    """Params of a run are unknown or cannot be read. All its problems are in ``problems``, as (param, text)."""

    anchor: ClassVar[str] = "params"
    table: str
    problems: tuple[tuple[str, str], ...]

    @property
    def headline(self) -> str:
        count = len(self.problems)
        return f"{self.table}: {count} param{'s' if count != 1 else ''} of this run refused, nothing was run."

    @property
    def details(self) -> Sequence[str]:
        return [f"{name}: {text}" for name, text in self.problems]

    @property
    def next_move(self) -> str:
        return "Trigger it again with the params corrected; the trigger form of the DAG describes each."


@dataclass(eq=False, kw_only=True)
class RangeError(IdempotentError):
    """A range of partitions is empty, reversed, or cannot be read as dates."""

    anchor: ClassVar[str] = "range"
    table: str
    from_date: str
    to_date: str
    reason: str = "from_date must be before to_date"

    @property
    def headline(self) -> str:
        return f"{self.table}: range {self.from_date!r} to {self.to_date!r} refused ({self.reason}), nothing was run."

    @property
    def next_move(self) -> str:
        return "The range is half-open: to load May 2025 pass from_date 2025-05-01 and to_date 2025-06-01."


@dataclass(eq=False, kw_only=True)
class OutOfRangeError(IdempotentError):
    """Partitions were asked for outside ``[start_date, end_date)`` of the table."""

    anchor: ClassVar[str] = "out-of-range"
    table: str
    partitions: tuple[str, ...]
    start_date: str
    end_date: str

    @property
    def headline(self) -> str:
        return (
            f"{self.table}: {len(self.partitions)} partition(s) lie outside "
            f"[{self.start_date}, {self.end_date or 'open'}), nothing was run."
        )

    @property
    def details(self) -> Sequence[str]:
        shown = self.partitions[:5]
        more = len(self.partitions) - len(shown)
        return [*shown, *([f"and {more} more"] if more else [])]

    @property
    def next_move(self) -> str:
        return "Ask for partitions inside the range, or widen start_date / end_date in the spec."


@dataclass(eq=False, kw_only=True)
class WatermarkError(IdempotentError):
    """Nothing reads from a watermark of the table, so that none can be set; or only from one of another kind."""

    anchor: ClassVar[str] = "watermark"
    table: str
    reason: str = "no scheduled run of an incremental query was published yet"

    @property
    def headline(self) -> str:
        return f"{self.table}: {self.reason}, nothing was changed."

    @property
    def next_move(self) -> str:
        return "Only tables with 'source.cursor' read from one; 'airflow-idempotent watermark show' lists them."

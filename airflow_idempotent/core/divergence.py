"""How a version of a table differs from the live one, partition by partition, and how it may differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self


class Likeness(StrEnum):
    """What a comparison came to. ``clean``: equal, or different only in what was expected."""

    CLEAN = "clean"
    DIVERGED = "diverged"
    NOT_COMPARED = "not_compared"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a column that was changed may be from the live one's; without any bound as far as it will.

    ``share`` and ``absolute`` are of each row: by which part of the live value it may differ, or by how much. ``total``
    is the part by which the sum over the partition may differ, ``distribution`` the greatest PSI.
    """

    share: float | None = None
    absolute: float | None = None
    total: float | None = None
    distribution: float | None = None

    @property
    def binds_rows(self) -> bool:
        """Whether each row has to be near."""
        return self.share is not None or self.absolute is not None


@dataclass(frozen=True, slots=True)
class Expected:
    """Differences that are meant. ``added_rows`` and ``removed_rows`` are parts of the live partition's rows."""

    new_columns: tuple[str, ...] = ()
    dropped_columns: tuple[str, ...] = ()
    changed: Mapping[str, Bounds] = field(default_factory=dict)
    added_rows: float = 0.0
    removed_rows: float = 0.0


@dataclass(frozen=True, slots=True)
class Unlike:
    """One difference: ``what`` differs (columns, rows, values, total, distribution), of which column.

    ``samples`` are keys, never whole rows; ``query`` shows the rows.
    """

    what: str
    message: str
    expected: bool
    column: str = ""
    samples: tuple[str, ...] = ()
    query: str = ""

    def __str__(self) -> str:
        examples = f", e.g. {', '.join(self.samples)}" if self.samples else ""
        return f"{self.message}{examples}"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, for the ledger."""
        return {**asdict(self), "samples": list(self.samples)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What ``as_dict`` made."""
        return cls(**{**values, "samples": tuple(values["samples"])})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A partition of a version held against the same partition of the live table, in one snapshot."""

    likeness: Likeness
    rows: int | None = None
    live_rows: int | None = None
    digest: str | None = None
    live_digest: str | None = None
    unlike: tuple[Unlike, ...] = ()
    reason: str = ""

    @classmethod
    def of(cls, unlike: tuple[Unlike, ...], **facts: Any) -> Self:
        """The comparison that found these differences."""
        clean = all(item.expected for item in unlike)
        return cls(Likeness.CLEAN if clean else Likeness.DIVERGED, unlike=unlike, **facts)

    @property
    def message(self) -> str:
        """What is not as it should be; empty when nothing is."""
        return self.reason or "; ".join(str(item) for item in self.unlike if not item.expected)

    @property
    def told(self) -> str:
        """The same, or that all is well."""
        meant = "; ".join(item.message for item in self.unlike)
        well = f"{self.rows or 0:,} rows, {f'different as expected: {meant}' if meant else 'as in the live table'}"
        return self.message or well


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison as the ledger has it: of which partition of which version, with which version, and when."""

    table: str
    version: int
    live_version: int
    partition: str
    comparison: Comparison
    at: datetime | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        found = self.comparison
        return {
            "version": self.version,
            "live_version": self.live_version,
            "partition": self.partition,
            "state": str(found.likeness),
            "rows": found.rows,
            "live_rows": found.live_rows,
            "message": found.message,
            "differences": [item.as_dict() for item in found.unlike],
            "compared_at": self.at and self.at.isoformat(),
        }

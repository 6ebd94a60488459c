"""What the values of a partition look like, in a few hundred numbers: kept, so that no old data is read again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from airflow_idempotent.core.columns import Column

MOST_CATEGORIES = 50
"""Values of a column that are counted one by one; the rest are counted together."""

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_NUMBERS = {"smallint", "integer", "bigint", "numeric", "real", "double precision"}
_TIMES = {
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
    "time without time zone",
    "time with time zone",
    "interval",
}


def is_number(column: Column) -> bool:
    """Whether the values of a column are numbers."""
    return _plain(column) in _NUMBERS


def is_measured(column: Column) -> bool:
    """Whether the values of a column lie on a scale, numbers and times; any others are categories."""
    return _plain(column) in _NUMBERS | _TIMES


def _plain(column: Column) -> str:
    return column.domain_of.partition("(")[0].strip() or column.base_type


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which rows stand for all: those whose key hashes low, under a seed made from what is looked at.

    The same rows of the same batch give the same sample, whenever it is taken. ``key`` are the columns that
    tell rows apart.
    """

    key: tuple[str, ...]
    size: int
    seed: int

    @classmethod
    def of(cls, key: Iterable[str], size: int, *what: str) -> Self:
        """The sampling of a batch, named by table, partition and batch id."""
        number = hashlib.sha256("\0".join(what).encode()).digest()[:8]
        return cls(tuple(key), size, int.from_bytes(number, signed=True))

    def most(self, rows: int) -> int:
        """The greatest hash that is in the sample, when it is taken of so many rows."""
        return _GREATEST if rows <= self.size else _LEAST + (self.size * (1 << 64)) // rows


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """How the values of one column are spread over bins, in a sample of ``rows`` rows.

    A bin of a measured column is named by its least value, and goes up to the next; a bin of any other is one
    value. ``rest`` are rows in none of them: below the first, or of other values.
    """

    measured: bool
    rows: int
    nulls: int
    bins: tuple[str, ...]
    counts: tuple[int, ...]

    @property
    def rest(self) -> int:
        return self.rows - self.nulls - sum(self.counts)

    @property
    def null_rate(self) -> float:
        """NULLs among all rows; 0 of none."""
        return self.nulls / self.rows if self.rows else 0.0

    @property
    def spread(self) -> list[int]:
        """Rows per bin, the rest where it belongs: before the bins of a scale, behind others."""
        return [self.rest, *self.counts] if self.measured else [*self.counts, self.rest]


@dataclass(frozen=True, slots=True)
class Profile:
    """The columns of a partition as they were when a batch was published."""

    columns: Mapping[str, ColumnProfile]

    @classmethod
    def read(cls, found: Iterable[Sequence[Any]], measured: Mapping[str, bool], by: Self | None = None) -> Self:
        """From rows of (column, what, bin, count), as the database counted them; ``by`` has the bins."""
        rows = dict.fromkeys(measured, 0)
        nulls = dict(rows)
        counts: dict[str, dict[str, int]] = {name: {} for name in measured}
        for name, what, label, count in found:
            if what != "bin":
                (rows if what == "rows" else nulls)[name] = count
            elif label is not None:
                counts[name][label] = count
        columns = {}
        for name, is_scale in measured.items():
            bins = by.columns[name].bins if by else _in_order(counts[name], is_scale)
            filled = tuple(counts[name].get(label, 0) for label in bins)
            columns[name] = ColumnProfile(is_scale, rows[name], nulls[name], bins, filled)
        return cls(columns)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The profile that ``as_json`` wrote."""
        columns = {
            name: ColumnProfile(
                item["measured"], item["rows"], item["nulls"], tuple(item["bins"]), tuple(item["counts"])
            )
            for name, item in content.items()
        }
        return cls(columns)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, for the ledger."""
        return {
            name: {
                "measured": item.measured,
                "rows": item.rows,
                "nulls": item.nulls,
                "bins": list(item.bins),
                "counts": list(item.counts),
            }
            for name, item in self.columns.items()
        }


def _in_order(counts: Mapping[str, int], measured: bool) -> tuple[str, ...]:
    """Bins of a scale from its beginning, NaN at the end as PostgreSQL has it; others most frequent first."""
    if measured:
        return tuple(sorted(counts, key=lambda label: (float(label) != float(label), float(label))))
    return tuple(sorted(counts, key=lambda label: (-counts[label], label)))

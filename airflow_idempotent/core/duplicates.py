"""Removing duplicates from a table: what is asked for, what was found, what was done."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts

CHUNK_ROWS = 10_000
MOST_SCANS = 100
"""Where no index leads to a key each chunk reads the whole table, so there should not be more chunks than this."""


@dataclass(frozen=True, slots=True)
class Deduplication:
    """What is asked for: of the rows of each key the best one stays, all others go.

    ``chunk_rows`` bounds the rows that one transaction removes; None lets the table's indexes decide.

    Raises:
        ValueError: no key, a column named twice, or a bound below 1.
    """

    relation: Relation
    unique_key: tuple[str, ...]
    version: tuple[str, ...] = ()
    chunk_rows: int | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)

    def __post_init__(self) -> None:
        if not self.unique_key:
            raise ValueError("unique_key is empty: which columns tell which row is which?")
        for word, names in (("unique_key", self.unique_key), ("version", self.version)):
            for name in names:
                if not name or names.count(name) > 1:
                    raise ValueError(f"{word}: column {name!r} is {'named twice' if name else 'no name'}")
        if self.chunk_rows is not None and self.chunk_rows < 1:
            raise ValueError(f"chunk_rows is {self.chunk_rows}, it must be at least 1")

    @property
    def table(self) -> str:
        return str(self.relation)

    def rows_per_chunk(self, rows: int, *, indexed: bool) -> int:
        """The bound that holds for a table of so many rows, with or without an index that leads to a key."""
        return self.chunk_rows or (CHUNK_ROWS if indexed else max(CHUNK_ROWS, rows // MOST_SCANS))


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys greater than ``after`` and not greater than ``upto``, as the database prints them; None is no bound.

    ``duplicates`` is how many lay there when it was looked at.
    """

    after: tuple[str, ...] | None = None
    upto: tuple[str, ...] | None = None
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Survey:
    """What one look at the whole table has found. ``duplicates`` are the rows that would go.

    ``bounds`` are keys in order, each with the number of duplicates up to it: between two of them lie
    about as many as one chunk takes.
    """

    shape: TableShape
    rows: int
    null_keys: int
    repeated_keys: int
    duplicates: int
    chunk_rows: int
    indexed: bool
    bounds: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @property
    def ranges(self) -> tuple[KeyRange, ...]:
        """All keys, cut at the bounds; none when there is nothing to remove."""
        if not self.duplicates:
            return ()
        cuts = ((0, None), *self.bounds, (self.duplicates, None))
        return tuple(KeyRange(after, upto, there - here) for (here, after), (there, upto) in pairwise(cuts))


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """What was found and done. ``null_keys`` rows were left alone: nobody can say which row they are.

    ``index_advice`` is the statement that keeps duplicates out from now on; empty when there is such
    an index, or when it cannot be made yet.
    """

    table: str
    unique_key: tuple[str, ...]
    version: tuple[str, ...]
    rows: int
    null_keys: int
    repeated_keys: int
    duplicates: int
    removed: int = 0
    chunks: int = 0
    dry_run: bool = False
    index_advice: str = ""

    def as_pointer(self) -> dict[str, Any]:
        """Plain JSON values, for XCom and ``--json``."""
        return asdict(self) | {"unique_key": list(self.unique_key), "version": list(self.version)}

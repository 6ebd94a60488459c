"""What the laws must know of a strategy to try it: a spec, tables, rows, and a model in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hypothesis import strategies as st

from tests.model.merge import Row, Value

PARTITIONS = ("2025-05-01", "2025-05-02", "2025-05-03")


class Model(Protocol):
    """The strategy in plain Python."""

    def load(self, batch: Sequence[Row], *, partition: str, revision: int) -> Mapping[str, int]:
        """Apply a batch; what happened to its rows and to the table, in the seven words."""

    def in_order(self) -> list[tuple[Value, ...]]:
        """The rows of the table, as ``Kind.table_columns`` has them, sorted by ``repr``."""


@dataclass(frozen=True)
class Kind:
    """One strategy, with its options, as the laws try it.

    ``rows`` draws a row of a batch of that partition: few keys and few versions, so that collisions are the rule.
    ``layouts`` are the bodies of CREATE TABLE, ``{}`` stands for the table's name in what follows them.
    ``commutes`` when any order of batches ends in the same rows. ``story`` are two batches of one partition, the second
    of which has every effect that the strategy knows; the crash law kills its load at every moment.
    """

    words: Mapping[str, Any]
    columns: Sequence[str]
    table_columns: Sequence[str]
    layouts: Mapping[str, str]
    rows: Callable[[str], st.SearchStrategy[Row]]
    model: Callable[[], Model]
    story: tuple[Sequence[Row], Sequence[Row]]
    commutes: bool = True
    keeps_places: bool = True
    children: Sequence[str] = field(default=())
    """Statements that make the child tables of layouts whose text says PARTITION BY."""

    def row(self, *values: Value) -> Row:
        """A row of a batch, column by column."""
        return dict(zip(self.columns, values, strict=True))


def texts() -> st.SearchStrategy[Value]:
    """NULL, and texts that are easily taken for something else."""
    odd = ("", "a", "B", "b", "é", "\U0001f600", 'quo"te', "a,b", "two\nlines", " ", "NULL", "\\N", "\\", "'")
    return st.none() | st.sampled_from(odd)


def built(columns: Sequence[str], *values: st.SearchStrategy[Value]) -> st.SearchStrategy[Row]:
    """Rows of these columns."""
    return st.builds(lambda *row: dict(zip(columns, row, strict=True)), *values)

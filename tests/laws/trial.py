"""A strategy on trial: a new table, batches of drawn rows, landed as files and loaded by the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.spec.load import LoadSpec
from tests.laws.kinds import KINDS, PARTITIONS, Kind, Model
from tests.laws.world import World, field_of
from tests.model.merge import Row, Value

EXAMPLES = int(os.environ.get("AIRFLOW_IDEMPOTENT_LAW_EXAMPLES", "200"))
"""Histories that each strategy is tried on; ``make laws`` asks for ten times as many."""


def examples_of(name: str) -> int:
    """How many histories a kind is tried on: those promised of its strategy, shared with its other kinds."""
    strategy = name.partition(",")[0]
    return -(-EXAMPLES // sum(other.partition(",")[0] == strategy for other in KINDS))


@dataclass(frozen=True)
class Revision:
    """What one partition's file holds at one time, and its number within the partition."""

    partition: str
    number: int
    rows: Sequence[Row]


@st.composite
def histories(draw: st.DrawFn, kind: Kind, *, most: int = 4) -> list[Revision]:
    """Batches in the order of their landing; those of one partition differ from each other."""
    found: list[Revision] = []
    for _ in range(draw(st.integers(1, most))):
        partition = draw(st.sampled_from(PARTITIONS))
        rows = draw(st.lists(kind.rows(partition), max_size=6))
        earlier = [batch for batch in found if batch.partition == partition]
        if all(batch.rows != rows for batch in earlier):
            found.append(Revision(partition, len(earlier) + 1, rows))
    return found


@st.composite
def replays(draw: st.DrawFn, kind: Kind) -> tuple[list[Revision], list[int]]:
    """A history, and an order in which each of its batches is loaded at least once."""
    history = draw(histories(kind))
    numbers = range(len(history))
    return history, draw(st.permutations([*numbers, *draw(st.lists(st.sampled_from(numbers), max_size=3))]))


class Trial:
    """One table of a kind, and its model."""

    def __init__(self, world: World, kind: Kind, layout: str, *, checked: bool = False) -> None:
        self.world, self.kind = world, kind
        name = f"t{next(world.numbers)}"
        world.sql(f"CREATE TABLE {name} {kind.layouts[layout]}")
        if "PARTITION BY" in kind.layouts[layout]:
            for child in kind.children:
                world.sql(child.format(name))
        checks = [{"row_count": {"min": 0}}] if checked else []
        self.spec = LoadSpec(table=name, checks=checks, lock_timeout=60, **kind.words)
        self.model: Model = kind.model()

    def land(self, batch: Revision) -> Manifest:
        """Put the file where a source would have it, and land it."""
        source = self.world.folder / "inbox" / self.spec.table / f"{batch.partition}.csv"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(self._csv(batch.rows), encoding="utf-8", newline="")
        return self.world.land_file(self.spec, source, batch.partition)

    def _csv(self, rows: Sequence[Row]) -> str:
        names = self.kind.columns
        lines = [",".join(names), *(",".join(field_of(row[name]) for name in names) for row in rows)]
        return "\n".join(lines) + "\n"

    def load(self, manifest: Manifest, *, connect: Callable[[], Any] | None = None) -> Receipt:
        return self.world.load(self.spec, manifest, connect=connect)

    def rows(self) -> list[tuple[Value, ...]]:
        """The table as the model has it."""
        found = self.world.sql(f"SELECT {', '.join(self.kind.table_columns)} FROM {self.spec.table}")
        return sorted(found, key=repr)

    def places(self) -> dict[tuple[Any, ...], tuple[Value, ...]]:
        """Every row by the place it lies at and the transaction that wrote it."""
        columns = ", ".join(self.kind.table_columns)
        found = self.world.sql(f"SELECT tableoid, ctid::text, xmin::text, {columns} FROM {self.spec.table}")
        return {row[:3]: row[3:] for row in found}

"""merge with options, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.model.merge import EFFECTS, Row, Table, comparable


@dataclass
class Partial(Table):
    """A row that is there takes some columns only, its version among them; they are compared first."""

    updates: Sequence[str] = ()

    def effect(self, row: Row, *, superseded: bool) -> str:
        found = self.rows.get(self.key(row))
        if found is None:
            return "inserted"
        ours, theirs = self._rank_of_updates(row), self._rank_of_updates(found)
        if ours == theirs:
            return "unchanged"
        wins = ours > theirs if self.version else not superseded
        return "updated" if wins else "stale"

    def written(self, row: Row) -> Row:
        kept = self.rows.get(self.key(row), row)
        return {name: row[name] if name in self.updates else kept[name] for name in self.columns}

    def rank(self, row: Row) -> tuple[Any, ...]:
        others = [name for name in self.columns if name not in (*self.unique_key, *self.updates)]
        return (*self._rank_of_updates(row), *((row[name] is None, comparable(row[name])) for name in others))

    def _rank_of_updates(self, row: Row) -> tuple[Any, ...]:
        content = [name for name in self.updates if name not in self.version]
        return (
            *((row[name] is not None, comparable(row[name])) for name in self.version),
            *((row[name] is None, comparable(row[name])) for name in content),
        )


@dataclass
class Complete(Table):
    """Rows of the partition whose key the newest batch lacks are deleted; an older batch writes nothing."""

    partition_column: str = ""

    def load(self, batch: Sequence[Row], *, partition: str = "", revision: int = 1) -> dict[str, int]:
        if self.newest.get(partition, 0) > revision:
            return {**dict.fromkeys(EFFECTS, 0), "stale": len(batch)}
        keys = {self.key(row) for row in batch}
        gone = [key for key, row in self.rows.items() if row[self.partition_column] == partition and key not in keys]
        for key in gone:
            del self.rows[key]
        return {**super().load(batch, partition=partition, revision=revision), "deleted": len(gone)}

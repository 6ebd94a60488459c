"""The merge strategy in plain Python: a table is a dict from key to row, a batch is a list of rows.

The order of two rows of one key is total:

1. version, column by column, the greater wins; NULL is lower than every value;
2. content, column by column in the table's order, the greater wins; NULL is greater than every value.
   Numbers are compared as numbers and text byte by byte in UTF-8 (PostgreSQL's collation "C"). Other
   types break ties by their text; the laws use these two only, on which Python and PostgreSQL agree
   without further words.

Without version the newest batch of a partition wins: a batch older than one already applied adds the
keys that are missing and replaces nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = int | str | None
Row = Mapping[str, Value]
Key = tuple[Value, ...]
EFFECTS = ("inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected")


@dataclass
class Table:
    """A table and the rule by which batches get into it. ``columns`` are in the order of the table."""

    columns: Sequence[str]
    unique_key: Sequence[str]
    version: Sequence[str] = ()
    rows: dict[Key, Row] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)

    def load(self, batch: Sequence[Row], *, partition: str = "", revision: int = 1) -> dict[str, int]:
        """Apply a batch; what happened to its rows."""
        superseded = not self.version and self.newest.get(partition, 0) > revision
        self.newest[partition] = max(revision, self.newest.get(partition, 0))
        effects = dict.fromkeys(EFFECTS, 0)
        for row in self.winners(batch):
            effect = self.effect(row, superseded=superseded)
            effects[effect] += 1
            if effect in ("inserted", "updated"):
                self.rows[self.key(row)] = self.written(row)
        effects["duplicate"] = len(batch) - sum(effects.values())
        return effects

    def winners(self, batch: Sequence[Row]) -> list[Row]:
        """The best row of each key."""
        best: dict[Key, Row] = {}
        for row in batch:
            best[self.key(row)] = max(best.get(self.key(row), row), row, key=self.rank)
        return list(best.values())

    def effect(self, row: Row, *, superseded: bool) -> str:
        """What becomes of one row of its key."""
        found = self.rows.get(self.key(row))
        if found is None:
            return "inserted"
        if dict(found) == dict(row):
            return "unchanged"
        wins = self.rank(row) > self.rank(found) if self.version else not superseded
        return "updated" if wins else "stale"

    def written(self, row: Row) -> Row:
        """What stands in the table once the row has won."""
        return row

    def key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.unique_key)

    def rank(self, row: Row) -> tuple[Any, ...]:
        """Where a row stands among those of its key; the greatest wins."""
        content = [name for name in self.columns if name not in self.unique_key and name not in self.version]
        return (
            *((row[name] is not None, comparable(row[name])) for name in self.version),
            *((row[name] is None, comparable(row[name])) for name in content),
        )

    def in_order(self) -> list[tuple[Value, ...]]:
        """All rows, in the order of their keys."""
        return [tuple(self.rows[key][name] for name in self.columns) for key in sorted(self.rows, key=repr)]


def comparable(value: Value) -> Any:
    """A value as PostgreSQL compares it; NULLs, told apart before, as equals."""
    return 0 if value is None else value.encode() if isinstance(value, str) else value

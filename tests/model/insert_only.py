"""insert_only in plain Python: the order of merge, and its other end wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.model.merge import Key, Row, Table


@dataclass
class FirstSeen(Table):
    """Per key the smallest row; without version the row that was there first, whatever comes later."""

    def winners(self, batch: Sequence[Row]) -> list[Row]:
        """The smallest row of each key."""
        least: dict[Key, Row] = {}
        for row in batch:
            least[self.key(row)] = min(least.get(self.key(row), row), row, key=self.rank)
        return list(least.values())

    def effect(self, row: Row, *, superseded: bool) -> str:
        found = self.rows.get(self.key(row))
        if found is None:
            return "inserted"
        if dict(found) == dict(row):
            return "unchanged"
        return "updated" if self.version and self.rank(row) < self.rank(found) else "stale"

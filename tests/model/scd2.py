"""scd2 in plain Python: a table is a dict from key and version to content; intervals are read off the versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.model.merge import EFFECTS, Key, Row, Value, comparable


@dataclass
class History:
    """Versions that stay. ``columns`` are in the order of the table."""

    columns: Sequence[str]
    unique_key: Sequence[str]
    version: str
    has_current: bool = False
    rows: dict[Key, Row] = field(default_factory=dict)

    def load(self, batch: Sequence[Row], *, partition: str = "", revision: int = 1) -> dict[str, int]:
        """Add the versions of a batch; what happened to its rows, and to rows whose interval changed."""
        before = {key: self.until(key) for key in self.rows}
        verdicts: dict[Key, str] = {}
        for row in self.winners(batch):
            verdicts[self.key(row)] = self.effect(row)
            if verdicts[self.key(row)] in ("inserted", "updated"):
                self.rows[self.key(row)] = row
        effects = dict.fromkeys(EFFECTS, 0)
        for key in [key for key, until in before.items() if self.until(key) != until]:
            if verdicts.get(key) == "unchanged":
                verdicts[key] = "updated"
            elif verdicts.get(key) != "updated":
                effects["updated"] += 1
        for verdict in verdicts.values():
            effects[verdict] += 1
        return {**effects, "duplicate": len(batch) - len(verdicts)}

    def winners(self, batch: Sequence[Row]) -> list[Row]:
        """One row per key and version: the greatest content."""
        best: dict[Key, Row] = {}
        for row in batch:
            best[self.key(row)] = max(best.get(self.key(row), row), row, key=self.content)
        return list(best.values())

    def effect(self, row: Row) -> str:
        found = self.rows.get(self.key(row))
        if found is None:
            return "inserted"
        if dict(found) == dict(row):
            return "unchanged"
        return "updated" if self.content(row) > self.content(found) else "stale"

    def key(self, row: Row) -> Key:
        return tuple(row[name] for name in (*self.unique_key, self.version))

    def content(self, row: Row) -> tuple[Any, ...]:
        names = [name for name in self.columns if name not in (*self.unique_key, self.version)]
        return tuple((row[name] is None, comparable(row[name])) for name in names)

    def until(self, key: Key) -> Value:
        """The next version of the key; None for the newest."""
        later = [other[-1] for other in self.rows if other[:-1] == key[:-1] and other[-1] > key[-1]]  # type: ignore[operator]
        return min(later, default=None)  # type: ignore[type-var]

    def in_order(self) -> list[tuple[Value, ...]]:
        """All rows with their intervals."""
        return sorted((self._shown(key) for key in self.rows), key=repr)

    def _shown(self, key: Key) -> tuple[Value, ...]:
        until = self.until(key)
        current = (until is None,) if self.has_current else ()
        return (*(self.rows[key][name] for name in self.columns), key[-1], until, *current)

"""The cdc strategy in plain Python: per key a row with its version, and the version at which it was deleted.

Of one key the greater version wins, NULL lowest; at equal versions a row wins over a deletion, and of two rows
the greater content, as in ``tests.model.merge``. A key is deleted while its deletion is newer than every row of it
that was seen. ``soft`` keeps such rows, flagged; their content is that of the newest row, whenever it comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.model.merge import Key, Row, Value, comparable

Version = tuple[Any, ...]


@dataclass
class Changes:
    """A table that a change stream is applied to. ``before`` is the column with the key before an update, if any."""

    columns: Sequence[str]
    unique_key: Sequence[str]
    version: Sequence[str]
    soft: bool = False
    before: Mapping[str, str] = field(default_factory=dict)
    rows: dict[Key, Row] = field(default_factory=dict)
    deletions: dict[Key, Version] = field(default_factory=dict)

    def load(self, batch: Sequence[Row], *, partition: str = "", revision: int = 1) -> dict[str, int]:
        """Apply a batch; what happened to its rows, and to the rows that changed their key."""
        effects = dict.fromkeys(("inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected"), 0)
        events = [*batch, *self.old_keys(batch)]
        accounted = 0
        for key in sorted({self.key(event) for event in events}, key=repr):
            of_key = [event for event in events if self.key(event) == key]
            rows = [event for event in of_key if self.soft and event["op"] != "D"]
            beyond = not rows and not self.speaks(max(of_key, key=self.rank))
            effect = self.apply(key, of_key)
            if not beyond or effect in ("inserted", "updated", "deleted"):
                effects[effect] += 1
            accounted += not beyond
        effects["duplicate"] = len(batch) - accounted
        return effects

    def apply(self, key: Key, events: Sequence[Row]) -> str:
        """What becomes of one key."""
        if not self.soft:
            events = [max(events, key=self.rank)]
        rows = [self.row(event) for event in events if event["op"] != "D"]
        deleted = max((self.at(event) for event in events if event["op"] == "D"), default=None)
        row = max(rows, key=self.content, default=None)
        there, buried, was_gone = self.rows.get(key), self.deletions.get(key), self.is_gone(key)
        if deleted is not None and (buried is None or deleted > buried):
            self.deletions[key] = deleted
        if row is not None and (there is None or self.content(row) > self.content(there)):
            self.rows[key] = row
        if self.soft:
            return self.softly(key, row, deleted, there, buried, was_gone)
        if was_gone or there is None:
            if row is not None:
                return "stale" if self.is_gone(key) else "inserted"
            return "stale" if buried is not None and deleted < buried else "unchanged"
        if self.is_gone(key):
            return "deleted"
        return "updated" if self.rows[key] != there else "unchanged" if row == there else "stale"

    def softly(
        self, key: Key, row: Row | None, deleted: Version | None, there: Row | None, buried: Version | None, was: bool
    ) -> str:
        """The effect where deleted rows stay: a flag that changes is an effect too."""
        if there is None and row is not None:
            return "inserted"
        if there is not None and self.is_gone(key) and not was:
            return "deleted"
        if there is not None and (self.rows[key] != there or self.is_gone(key) != was):
            return "updated"
        if deleted is not None and self.is_gone(key) and (buried is None or deleted > buried):
            return "unchanged"
        new = (row is not None and row != there) or (
            deleted is not None and (deleted != buried or not self.is_gone(key))
        )
        return "stale" if new else "unchanged"

    def is_gone(self, key: Key) -> bool:
        """Whether the key was deleted after everything that is known of it."""
        if key not in self.deletions:
            return False
        return key not in self.rows or self.deletions[key] > self.at(self.rows[key])

    def old_keys(self, batch: Sequence[Row]) -> list[Row]:
        """The deletions that updates of the key bring about."""
        found = []
        for event in batch:
            old = {name: event[name] if event[was] is None else event[was] for name, was in self.before.items()}
            if event["op"] == "U" and any(event[name] != value for name, value in old.items()):
                found.append(
                    {**dict.fromkeys(event), **{n: event[n] for n in (*self.unique_key, *self.version)}, **old}
                )
                found[-1] |= {"op": "D", "beyond": 1}
        return found

    def speaks(self, event: Row) -> bool:
        """Whether the event is a row of the batch."""
        return "beyond" not in event

    def key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.unique_key)

    def row(self, event: Row) -> Row:
        return {name: event[name] for name in self.columns}

    def at(self, row: Row) -> Version:
        return tuple((row[name] is not None, comparable(row[name])) for name in self.version)

    def content(self, row: Row) -> tuple[Any, ...]:
        """Where a row stands among those of its key."""
        names = [name for name in self.columns if name not in (*self.unique_key, *self.version)]
        return (self.at(row), *((row[name] is None, comparable(row[name])) for name in names))

    def rank(self, event: Row) -> tuple[Any, ...]:
        """Where an event stands among those of its key: version, a row before a deletion, the batch before beyond."""
        return (self.at(event), event["op"] != "D", self.speaks(event), self.content(event)[1:])

    def in_order(self) -> list[tuple[Value, ...]]:
        """The rows of the table, in the order of their keys."""
        shown = [(key, row) for key, row in self.rows.items() if self.soft or not self.is_gone(key)]
        flags = {key: (self.is_gone(key),) if self.soft else () for key, _ in shown}
        return sorted(((*(row[n] for n in self.columns), *flags[key]) for key, row in shown), key=repr)

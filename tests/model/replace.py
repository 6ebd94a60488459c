"""Strategies that replace a set of rows, in plain Python: a scope of the table becomes exactly the batch.

Rows are told apart by ``unique_key``, or, without one, by their content: as many equal rows as the batch has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.model.merge import Row, Table, Value, comparable

EFFECTS = ("inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected")
Content = tuple[Value, ...]


@dataclass
class Scoped:
    """A table of rows, each in a scope. ``scope_of`` tells which scope a batch of that partition speaks for."""

    columns: Sequence[str]
    unique_key: Sequence[str] = ()
    version: Sequence[str] = ()
    rows: list[tuple[Hashable, Content]] = field(default_factory=list)
    newest: dict[Hashable, tuple[Any, ...]] = field(default_factory=dict)
    of_table: bool = False

    def load(self, batch: Sequence[Row], *, partition: str, revision: int) -> dict[str, int]:
        """Apply a batch; what happened to its rows and to the table."""
        rows = self.winners(batch)
        counted = dict.fromkeys(EFFECTS, 0) | {"duplicate": len(batch) - len(rows)}
        scope = "" if self.of_table else partition
        rank = (partition, revision)
        if self.newest.get(scope, rank) > rank:
            return counted | {"stale": len(rows)}
        self.newest[scope] = rank
        there = [content for where, content in self.rows if where == scope]
        counted |= difference(there, rows, self.key)
        self.rows = [row for row in self.rows if row[0] != scope] + [(scope, row) for row in rows]
        return counted

    def winners(self, batch: Sequence[Row]) -> list[Content]:
        """The batch's rows, one per key where there is one."""
        if self.unique_key:
            batch = Table(self.columns, self.unique_key, self.version).winners(batch)
        return [tuple(row[name] for name in self.columns) for row in batch]

    def key(self, row: Content) -> Content:
        return tuple(row[self.columns.index(name)] for name in self.unique_key)

    def in_order(self) -> list[Content]:
        return sorted((row for _, row in self.rows), key=repr)


def difference(there: Iterable[Content], rows: Iterable[Content], key: Callable[[Content], Content]) -> dict[str, int]:
    """What it takes to make the one the other. Rows of equal key are one row; without keys none are."""
    new, old = Counter(rows), Counter(there)
    added, gone = new - old, old - new
    updated = 0
    if (new and key(next(iter(new)))) or (old and key(next(iter(old)))):
        updated = len({key(row) for row in added} & {key(row) for row in gone})
    return {
        "inserted": added.total() - updated,
        "updated": updated,
        "deleted": gone.total() - updated,
        "unchanged": (new & old).total(),
    }


@dataclass
class Marked(Scoped):
    """A snapshot that marks what is gone: rows carry a flag at their end. ``keeps`` leaves them unmarked."""

    keeps: bool = False
    of_table: bool = True

    def load(self, batch: Sequence[Row], *, partition: str, revision: int) -> dict[str, int]:
        rows = self.winners(batch)
        counted = dict.fromkeys(EFFECTS, 0) | {"duplicate": len(batch) - len(rows)}
        if self.newest.get("", (partition, revision)) > (partition, revision):
            return counted | {"stale": len(rows)}
        self.newest[""] = (partition, revision)
        there = {self.key(row): (row, bool(gone)) for gone, row in self.rows}
        for row in rows:
            found = there.pop(self.key(row), None)
            effect = "inserted" if found is None else "unchanged" if found == (row, False) else "updated"
            counted[effect] += 1
        missing = [(row, gone) for row, gone in there.values()]
        if not self.keeps:
            counted["deleted"] = sum(not gone for _, gone in missing)
        self.rows = [(False, row) for row in rows] + [(gone or not self.keeps, row) for row, gone in missing]
        return counted

    def in_order(self) -> list[Content]:
        if self.keeps:
            return super().in_order()
        return sorted(((*row, bool(gone)) for gone, row in self.rows), key=repr)


@dataclass
class Grouped(Scoped):
    """Groups of rows of one ``merge_key`` are replaced as a whole; the greatest group wins."""

    merge_key: Sequence[str] = ()

    def load(self, batch: Sequence[Row], *, partition: str, revision: int) -> dict[str, int]:
        rows = self.winners(batch)
        counted = Counter(dict.fromkeys(EFFECTS, 0) | {"duplicate": len(batch) - len(rows)})
        superseded = not self.version and self.newest.get(partition, (0,)) > (revision,)
        self.newest[partition] = max((revision,), self.newest.get(partition, (0,)))
        there = [row for _, row in self.rows]
        for group in {self.group(row) for row in rows}:
            ours = [row for row in rows if self.group(row) == group]
            theirs = [row for row in there if self.group(row) == group]
            if not theirs or (self.rank(ours) > self.rank(theirs) if self.version else not superseded):
                counted.update(difference(theirs, ours, self.key))
                there = [row for row in there if self.group(row) != group] + ours
            else:
                equal = (Counter(ours) & Counter(theirs)).total()
                counted.update({"unchanged": equal, "stale": len(ours) - equal})
        self.rows = [("", row) for row in there]
        return dict(counted)

    def group(self, row: Content) -> Content:
        return tuple(row[self.columns.index(name)] for name in self.merge_key)

    def rank(self, rows: Sequence[Content]) -> tuple[Any, ...]:
        """Where a group stands: its greatest version, then its rows in order."""
        versions = [[(row[place] is not None, comparable(row[place])) for place in self._places] for row in rows]
        return max(versions), sorted(tuple((value is None, comparable(value)) for value in row) for row in rows)

    @property
    def _places(self) -> list[int]:
        return [self.columns.index(name) for name in self.version]

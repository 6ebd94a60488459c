"""What a table has and what hangs on it, so that another table can take its place without anybody noticing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from airflow_idempotent.core.relation import Relation


class Kind(StrEnum):
    """What a thing is; the value is what people call it."""

    OWNER = "owner"
    GRANT = "grant"
    ROW_SECURITY = "row level security"
    POLICY = "policy"
    TRIGGER = "trigger"
    RULE = "rule"
    COMMENT = "comment"
    INDEX = "index"
    CONSTRAINT = "constraint"
    FOREIGN_KEY = "foreign key"
    REFERENCE = "foreign key to it"
    VIEW = "view"
    VIEW_ABOVE = "view on a view of it"
    MATERIALIZED_VIEW = "materialised view"
    FUNCTION = "function"
    ROW_TYPE = "use of its row type"
    INHERITANCE = "inheritance"
    DEFAULT = "default"
    SEQUENCE = "sequence"
    IDENTITY = "identity"
    PUBLICATION = "publication"
    REPLICA_IDENTITY = "replica identity"
    STATISTICS = "extended statistics"
    COLUMN_OPTION = "option of a column"
    STORAGE_PARAMETER = "storage parameter"
    TABLESPACE = "tablespace"


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """One thing. Two tables have the same when kind, name and definition are equal.

    ``definition`` has nothing of the table's own name. ``facts`` are what a statement that makes the thing is built
    from: names, and text that PostgreSQL itself has written from its catalogue.
    """

    kind: Kind
    name: str
    definition: str = ""
    facts: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()

    @property
    def column(self) -> str:
        """The one column that it is about; empty when it is about more."""
        place = _COLUMN.get(self.kind)
        about_columns = self.kind is not Kind.COMMENT or self.facts[0] == "COLUMN"
        return self.facts[place] if place is not None and about_columns else ""


_COLUMN = {
    Kind.GRANT: 1,
    Kind.COMMENT: 1,
    Kind.COLUMN_OPTION: 1,
    Kind.DEFAULT: 0,
    Kind.SEQUENCE: 0,
    Kind.IDENTITY: 0,
}
"""Where among its facts a thing has the name of its column."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """A table, by name and oid, its columns, and all that belongs to it or hangs on it, in order."""

    relation: Relation
    oid: int
    columns: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()

    def of(self, *kinds: Kind) -> tuple[Item, ...]:
        """The items of these kinds."""
        return tuple(item for item in self.items if item.kind in kinds)


@dataclass(frozen=True, slots=True)
class Difference:
    """What another table lacks, what it has otherwise (as it should be, as it is), and what it has besides."""

    missing: tuple[Item, ...] = ()
    other: tuple[tuple[Item, Item], ...] = ()
    besides: tuple[Item, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.other or self.besides)


def difference(live: Inventory, shadow: Inventory) -> Difference:
    """What must become of ``shadow`` so that it has all that ``live`` has."""
    ours, theirs = (_by_name(inventory.items) for inventory in (live, shadow))
    return Difference(
        missing=tuple(item for key, item in ours.items() if key not in theirs),
        other=tuple((item, theirs[key]) for key, item in ours.items() if key in theirs and item != theirs[key]),
        besides=tuple(item for key, item in theirs.items() if key not in ours),
    )


def _by_name(items: Iterable[Item]) -> dict[tuple[Kind, str], Item]:
    return {(item.kind, item.name): item for item in sorted(items)}

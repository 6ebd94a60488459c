"""Names that two versions of a table exchange: of tables, indexes, sequences, statistics and constraints."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_idempotent.core.relation import Relation


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A thing with a name that belongs to a table, or to a child of it.

    ``path`` are the bounds of the child, empty for the table itself; ``definition`` is what it is, without any name:
    two things of one path, kind and definition stand for each other.
    """

    path: str
    kind: str  # TABLE | INDEX | SEQUENCE | STATISTICS | CONSTRAINT
    definition: str
    name: str
    schema: str
    of: str  # the table, or child, that it belongs to

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the counterpart of another."""
        return self.path, self.kind, self.definition

    @property
    def shares_namespace(self) -> bool:
        """Whether its name must differ from that of everything else in the schema."""
        return self.kind != "CONSTRAINT"


@dataclass(frozen=True, slots=True)
class Rename:
    """``ALTER kind old RENAME TO new``; a constraint is renamed at its table."""

    kind: str
    schema: str
    old: str
    new: str
    of: str = ""

    @property
    def relation(self) -> Relation:
        return Relation(self.schema, self.of if self.kind == "CONSTRAINT" else self.old)


@dataclass(frozen=True, slots=True)
class Exchange:
    """All renames of a swap in their order, and what the retired version's things were called."""

    renames: tuple[Rename, ...]
    names: tuple[tuple[str, str], ...]

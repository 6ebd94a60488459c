"""Replacing a partition as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_idempotent.core.actions.writing import ReplaceRows
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import MAX_IDENTIFIER_BYTES, Relation, short_name


@dataclass(frozen=True, slots=True)
class ReplacePartition:
    """Make one partition of ``target`` exactly ``source`` by a new child table, which takes the place of the old one.

    Other partitions are left alone. Idempotent because the two are compared first: a second run finds them equal,
    and builds nothing. Readers see the old child or the new one. ``superseded`` says that a newer batch is
    published: then nothing is written.
    """

    target: Relation
    source: str
    columns: tuple[str, ...]
    column: str
    partition: Partition
    unique_key: tuple[str, ...] = ()
    superseded: bool = False

    @property
    def difference(self) -> ReplaceRows:
        """What is compared: the rows of the partition with those of the batch."""
        within = (self.column, self.partition)
        return ReplaceRows(self.target, self.source, self.columns, self.unique_key, within=within)

    @property
    def child(self) -> Relation:
        """The child's name when we have made it: the table's and the partition's."""
        name = f"{self.target.name}_p{self.partition.compact}"
        fits = len(name.encode()) <= MAX_IDENTIFIER_BYTES
        return Relation(
            self.target.schema, name if fits else short_name("idem_p", str(self.target), self.partition.key)
        )

    def aside(self, child: Relation) -> Relation:
        """Where the new child is built: beside the old one."""
        return Relation(child.schema, short_name("idem_aside", str(child)))

    def parent(self, child: Relation) -> Relation:
        """What the new child is attached to for a moment, to get the indexes that it needs."""
        return Relation(child.schema, short_name("idem_parent", str(child)))

"""Making what must exist: the table, its columns, the child tables of a partitioned one."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.drift import Retyped
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import MAX_IDENTIFIER_BYTES, Relation, short_name


@dataclass(frozen=True, slots=True)
class CreateTarget:
    """Make the target table, and its schema, when they do not exist.

    A table that exists is left alone, whatever its columns. Idempotent because of that.
    ``partition_column`` makes it PARTITION BY RANGE; ``fillfactor`` is the percentage of a page
    that inserts fill, the rest is room for updates in place.
    """

    target: Relation
    columns: tuple[Column, ...]
    unique_key: tuple[str, ...]
    fillfactor: int = 100
    partition_column: str | None = None


@dataclass(frozen=True, slots=True)
class CreateLike:
    """Make a table as another one is: columns, NULLs, defaults, generated and identity columns, CHECKs and keys.

    A table that exists is left alone, and so is ``like``. Idempotent because of that. Indexes that keep nothing unique
    are left for later: a table is filled faster without them. ``partition_column`` and ``fillfactor`` as for a
    table that is made from columns.
    """

    target: Relation
    like: Relation
    fillfactor: int = 100
    partition_column: str | None = None


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Add columns that ``target`` lacks, filled with NULL or their default.

    Columns that are there are left alone, whatever their type. Idempotent because of that. PostgreSQL
    changes the catalogue only, no row is rewritten; ``defaults`` are SQL words like ``false``.
    """

    target: Relation
    columns: tuple[Column, ...]
    defaults: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EnsureIndex:
    """Make an index on text columns of ``target`` that finds them by the order of their bytes.

    An index of that name is left alone, and so are all rows. Idempotent because of that.
    """

    target: Relation
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """The index's name: a hash of the table and its columns."""
        return short_name("idem_index", str(self.target), *self.columns)


@dataclass(frozen=True, slots=True)
class DropColumns:
    """Drop columns that the spec no longer has, and their values with them.

    A column that something depends on, like a view, is left alone: PostgreSQL refuses. Idempotent because
    a column that is gone already is passed over.
    """

    target: Relation
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WidenColumns:
    """Give columns a wider type, in which every value stays the same.

    Rows keep their values; a type that would lose any is never asked for. Idempotent because a
    column that has the type already is left alone.
    """

    target: Relation
    columns: tuple[Retyped, ...]


@dataclass(frozen=True, slots=True)
class EnsureChild:
    """Make the child table that holds one partition of a table PARTITION BY RANGE.

    A child that exists is left alone, whatever its name. Idempotent because of that. Readers are not
    blocked: the child is built aside and attached.
    """

    target: Relation
    column: Column
    partition: Partition
    fillfactor: int = 100

    @property
    def child(self) -> Relation:
        """The child's name: the table's and the partition's, or a hash of both when too long."""
        name = f"{self.target.name}_p{self.partition.compact}"
        fits = len(name.encode()) <= MAX_IDENTIFIER_BYTES
        return Relation(
            self.target.schema, name if fits else short_name("idem_p", str(self.target), self.partition.key)
        )

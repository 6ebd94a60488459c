"""The small instruction set a step is made of. A dialect compiles each action to SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.manifest import CsvFormat, Part
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


@dataclass(frozen=True, slots=True)
class CreateStaging:
    """Make an empty staging table typed as ``target``, seen by this transaction only.

    The target is left alone. Idempotent because the table vanishes with the transaction, so every
    attempt begins with an empty one. ``ignored`` columns of the batch get a place and go no further.
    """

    target: Relation
    staging: str
    columns: tuple[str, ...]
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CopyBatch:
    """Stream the bytes of one part into ``staging``, matching columns by the names in its header.

    The target is left alone. Idempotent because staging is new in every attempt; the rows and the
    checksum of the part are compared with the manifest, or the step is aborted.
    """

    staging: str
    part: Part
    format: CsvFormat


@dataclass(frozen=True, slots=True)
class QueryBatch:
    """Fill ``staging`` with the ``columns`` of a query that reads the warehouse.

    The target is left alone, though the query may read it. Idempotent because staging is new in
    every attempt and the query can only read; ``binds`` are (name, value), bound and never text.
    """

    staging: str
    query: str
    columns: tuple[str, ...]
    binds: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class InspectBatch:
    """Refuse what no rule can load (NULL keys, digits that would be rounded), and measure the rest.

    The target is left alone. Idempotent because it only reads staging.
    """

    target: Relation
    staging: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...] = ()
    event_time: str | None = None


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Keep one row per key in ``winners``: the greatest version, ties by the row's content.

    Staging and target are left alone. Idempotent because the order is total: the same rows give the
    same winners.
    """

    staging: str
    winners: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunChecks:
    """Evaluate the checks on the rows that are about to be published; ``error`` closes the gate.

    The target is left alone. Idempotent because it only reads ``rows``, which have the ``columns``.
    """

    rows: str
    checks: Sequence[Any]
    columns: tuple[str, ...]

    @property
    def answerable(self) -> list[Any]:
        """The checks that ``rows`` can answer; the others ask for columns that only the target has."""
        return [check for check in self.checks if set(check.columns_used) <= set(self.columns)]


@dataclass(frozen=True, slots=True)
class UpsertRows:
    """Make ``target`` hold the newest version of every key in ``source``.

    Rows of ``target`` whose key is absent from ``source`` are left alone. Idempotent because only
    a strictly newer row replaces one: a second run finds nothing newer. ``deduplicated`` says that
    ``source`` has one row per key already; otherwise the newest row of each key is taken.
    ``superseded`` says that a newer batch is published: without ``version``, rows that are there stay.
    ``within`` is the column and the partition in which all rows lie, so that no other child table is visited.
    """

    target: Relation
    source: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...] = ()
    deduplicated: bool = False
    superseded: bool = False
    within: tuple[str, Partition] | None = None


@dataclass(frozen=True, slots=True)
class MeasurePartition:
    """Count the rows of one partition of ``target`` and take their digest.

    Nothing is written. Idempotent because it only reads; the digest does not depend on row order
    or on session settings.
    """

    target: Relation
    column: str
    partition: Partition


Action = (
    CreateTarget
    | EnsureChild
    | CreateStaging
    | CopyBatch
    | QueryBatch
    | InspectBatch
    | Deduplicate
    | RunChecks
    | UpsertRows
    | MeasurePartition
)

"""Bringing a batch into staging, and looking at it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.manifest import Format, Part
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.window import Position


@dataclass(frozen=True, slots=True)
class CreateStaging:
    """Make an empty staging table typed as ``target``, seen by this transaction only.

    The target is left alone. Idempotent because the table vanishes with the transaction, so every
    attempt begins with an empty one. ``ignored`` columns of the batch get a place and go no further;
    ``extra`` ones are read by the strategy, with types of their own. With ``places`` a row knows where it
    stood in the batch, so that it can be quarantined with its line.
    """

    target: Relation
    staging: str
    columns: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    extra: tuple[Column, ...] = ()
    places: bool = False


@dataclass(frozen=True, slots=True)
class CopyBatch:
    """Stream the rows of one part into ``staging``, matching columns by name.

    A CSV goes as it is; JSON Lines and Parquet are turned into CSV on the way, a chunk at a time.

    The target is left alone. Idempotent because staging is new in every attempt; the rows and the
    checksum of the part are compared with the manifest, or the step is aborted. ``lenient`` sets rows aside
    whose values cannot be read; ``number`` says which part of the batch this is, counted from 0.
    """

    staging: str
    part: Part
    format: Format
    number: int = 0
    lenient: bool = False


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

    The target is left alone. Idempotent because it only reads staging. With ``partition``, rows whose
    ``event_time`` lies outside it are refused too, and with ``no_missing`` those that have none. ``late_since``
    are the first partition of the lookback and that of the batch: rows before them are counted, of an
    incremental query only those ``new_since`` its watermark (cursor, place on it).
    """

    target: Relation
    staging: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...] = ()
    event_time: str | None = None
    partition: Partition | None = None
    no_missing: bool = False
    late_since: tuple[Partition, Partition] | None = None
    new_since: tuple[str, Position] | None = None


@dataclass(frozen=True, slots=True)
class RejectRows:
    """Take rows out of ``staging`` that the spec does not want in the table, and count them.

    The target is left alone. Idempotent because the same batch gives the same rows. ``outside`` and
    ``missing`` are rows whose ``event_time`` lies outside the ``partition``, or is NULL. With ``quarantine``
    they are kept there with line, column and reason, and so are rows that no rule can load, with NULL in
    ``required`` columns or numbers that do not fit.
    """

    target: Relation
    staging: str
    columns: tuple[str, ...]
    required: tuple[str, ...] = ()
    event_time: str | None = None
    partition: Partition | None = None
    outside: bool = False
    missing: bool = False
    quarantine: bool = False
    max_rows: int | None = None
    max_share: float = 1.0


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """Keep one row per key in ``winners``: the greatest version, ties by the row's content.

    Staging and target are left alone. Idempotent because the order is total: the same rows give the
    same winners. ``content`` are the columns in the order in which they break ties, when that is not the
    table's; ``least`` keeps the other end of the order. With ``in_place`` staging itself becomes the winners
    when no key repeats: nobody asks for the rows that lost.
    """

    staging: str
    winners: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    least: bool = False
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class RunChecks:
    """Evaluate the checks on the rows that are about to be published; ``error`` closes the gate.

    The target is left alone. Idempotent because it only reads ``rows``, which have the ``columns``; removal of
    duplicates has made them ``unique`` in those. ``partition_column`` says where they can be looked at afterwards,
    ``source`` are the rows as they came, ``key`` tells rows of the table apart.
    """

    rows: str
    checks: Sequence[Any]
    columns: tuple[str, ...]
    unique: tuple[str, ...] = ()
    partition_column: str | None = None
    source: str | None = None
    key: tuple[str, ...] = ()

    @property
    def answerable(self) -> list[Any]:
        """The checks that ``rows`` can answer; the others ask for columns that only the target has."""
        return [check for check in self.checks if set(check.columns_used) <= set(self.columns)]

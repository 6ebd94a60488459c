"""Writing staged rows into the target, and measuring what is there then."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation


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

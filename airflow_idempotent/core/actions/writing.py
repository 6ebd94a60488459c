"""Writing staged rows into the target, and measuring what is there then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.profile import Sampling
from airflow_idempotent.core.relation import Relation


@dataclass(frozen=True, slots=True)
class UpsertRows:
    """Make ``target`` hold the newest version of every key in ``source``.

    Rows of ``target`` whose key is absent from ``source`` are left alone. Idempotent because only
    a strictly newer row replaces one: a second run finds nothing newer. ``deduplicated`` says that
    ``source`` has one row per key already; otherwise the newest row of each key is taken.
    ``superseded`` says that a newer batch is published: without ``version``, rows that are there stay.
    ``within`` is the column and the partition in which all rows lie, so that no other child table is visited.

    ``updates`` are the columns that a row which is there takes from the batch, and by which the two are compared; None
    for all. ``least`` turns the order round: the oldest row of each key is kept. Without ``decides_ties`` a row of
    an equal version and other content is left as it is, for ``RefuseTies`` to find. ``complete`` says that the batch
    has all keys of its partition; a superseded one then writes nothing.
    """

    target: Relation
    source: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...] = ()
    deduplicated: bool = False
    superseded: bool = False
    within: tuple[str, Partition] | None = None
    updates: tuple[str, ...] | None = None
    least: bool = False
    decides_ties: bool = True
    complete: bool = False

    @property
    def content(self) -> tuple[str, ...]:
        """The columns in the order in which they break ties: first those that are written either way."""
        if self.updates is None:
            return self.columns
        return (*self.updates, *(name for name in self.columns if name not in self.updates))


@dataclass(frozen=True, slots=True)
class RefuseTies:
    """Refuse a batch in which only the content of a row could say whether it wins.

    That is a row of the same key and version as the winner of its key, in ``staging`` or in ``target``, with other
    content. The target is left alone. Idempotent because it only reads.
    """

    target: Relation
    staging: str
    upsert: UpsertRows
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class DeleteMissing:
    """Delete the rows of one partition of ``target`` whose key ``source`` lacks.

    Rows outside the partition are left alone, and those whose key is there. Idempotent because a second run
    finds none. ``superseded`` says that a newer batch is published: then nothing is deleted.
    """

    target: Relation
    source: str
    unique_key: tuple[str, ...]
    column: str
    partition: Partition
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceRows:
    """Make the rows of ``target`` within a scope exactly those of ``source``.

    The scope is one of: rows ``within`` a partition, rows that batches of ``partition`` wrote, rows whose ``keys`` the
    batch has, or, when none is given, all. Rows outside it, and rows that are equal in ``columns``, are left alone.
    Idempotent because only what differs is written: a second run finds nothing that differs.

    With ``unique_key``, of which ``source`` then has one row each, a row of the same key is updated in place; ``whole``
    gives it the defaults of the columns that the batch lacks. Without it, rows are told apart by their content, as
    often as they are there. ``on_missing`` says what becomes of rows that the batch lacks; ``deleted_column`` marks
    them. Of ``keys`` the group with the greatest ``version`` wins, the content of the group breaks ties.
    ``superseded`` says that a newer batch is published: nothing is written, but for groups that are not there.
    ``batch_id`` is given to the rows that are written, ``allow_empty`` lets no rows replace many, and
    ``refuse_repeats`` asks that no key of the batch comes twice.
    """

    target: Relation
    source: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    within: tuple[str, Partition] | None = None
    partition: Partition | None = None
    keys: tuple[str, ...] = ()
    whole: bool = False
    on_missing: Literal["delete", "keep", "soft_delete"] = "delete"
    deleted_column: str = ""
    batch_id: str = ""
    superseded: bool = False
    allow_empty: bool = True
    refuse_repeats: bool = False

    @property
    def is_of_table(self) -> bool:
        """Whether the scope is the whole table."""
        return not (self.within or self.partition or self.keys)


@dataclass(frozen=True, slots=True)
class MeasurePartition:
    """Count the rows of one partition of ``target``, or of all of it, and take their digest.

    Nothing is written. Idempotent because it only reads; the digest does not depend on row order
    or on session settings. Without ``column`` it is all of the table. With ``buckets`` rows and digest are taken
    of each of so many parts, cut by the hash of ``key``.
    """

    target: Relation
    column: str | None
    partition: Partition
    buckets: int | None = None
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfilePartition:
    """Count how the values of ``columns`` are spread in a sample of one partition of ``target``, or of all of it.

    Nothing is written. Idempotent because it only reads, and the sample of the same rows is always the same.
    """

    target: Relation
    column: str | None
    partition: Partition
    columns: tuple[str, ...]
    sampling: Sampling

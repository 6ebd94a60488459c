"""Batches that would take away, or collide with, what they must not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class EmptySnapshotError(IdempotentError):
    """A snapshot without rows would take away all that the table has."""

    anchor: ClassVar[str] = "empty-snapshot"
    table: str
    partition: str
    rows: int

    @property
    def headline(self) -> str:
        where = f"{self.table} {self.partition}"
        return f"{where}: the snapshot is empty, the table has {self.rows:,} rows; nothing was changed."

    @property
    def next_move(self) -> str:
        return "Look at the source; if it is really empty, set 'allow_empty: true' in 'strategy', then clear this task."


@dataclass(eq=False, kw_only=True)
class RepeatedInBatchError(IdempotentError):
    """Keys are more than once in a snapshot, and no version says which row is the one."""

    anchor: ClassVar[str] = "repeated-in-batch"
    table: str
    partition: str
    unique_key: tuple[str, ...]
    count: int

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.count:,} row(s) repeat a key of the batch, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [f"unique_key: {', '.join(self.unique_key)}"]

    @property
    def next_move(self) -> str:
        return "Correct the source, or name a 'version' whose greatest value says which row of a key counts."


@dataclass(eq=False, kw_only=True)
class AttachError(IdempotentError):
    """A child table cannot be exchanged for a new one without losing something of it."""

    anchor: ClassVar[str] = "attach"
    table: str
    partition: str
    child: str
    reasons: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.child} cannot be exchanged for a new table, nothing was changed."

    @property
    def details(self) -> Sequence[str]:
        return self.reasons

    @property
    def next_move(self) -> str:
        return "Move these from the child to the table, or set strategy.method to 'diff', then clear this task."


@dataclass(eq=False, kw_only=True)
class KeyElsewhereError(IdempotentError):
    """Keys of the batch stand in another partition, which this strategy must leave alone."""

    anchor: ClassVar[str] = "key-elsewhere"
    table: str
    partition: str
    unique_key: tuple[str, ...]
    count: int

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.count:,} key(s) stand in another partition, nothing was changed."

    @property
    def details(self) -> Sequence[str]:
        return [f"unique_key: {', '.join(self.unique_key)}"]

    @property
    def next_move(self) -> str:
        return "Load the partition that they left first, or choose 'strategy: merge', which moves rows."


@dataclass(eq=False, kw_only=True)
class NoChildTableError(IdempotentError):
    """No child of a partitioned table takes the rows of the batch."""

    anchor: ClassVar[str] = "no-child-table"
    table: str
    partition: str
    column: str
    start: str
    end: str

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: the table has no child for the rows of the batch, nothing was changed."

    @property
    def details(self) -> Sequence[str]:
        what = f"range of {self.column!r}" if self.column else "partition"
        return [f"{what}: from {self.start} to {self.end}"]

    @property
    def next_move(self) -> str:
        return "Create the child table, or set 'partition_by: {declarative: true}' so that loads create theirs."


@dataclass(eq=False, kw_only=True)
class RowsChangedError(IdempotentError):
    """Somebody else wrote the rows that were about to be replaced; a retry looks again."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "rows-changed"
    table: str
    partition: str
    expected: int
    written: int

    @property
    def headline(self) -> str:
        what = f"{self.expected:,} rows were to be written, {self.written:,} were still as found"
        return f"{self.table} {self.partition}: {what}; nothing was changed."

    @property
    def next_move(self) -> str:
        return "Retry; if it comes again, find who else writes this table (pg_stat_activity) and keep them apart."


@dataclass(eq=False, kw_only=True)
class OtherSpecError(IdempotentError):
    """A batch that is published would be loaded again by another spec, by a strategy that deletes rows."""

    anchor: ClassVar[str] = "other-spec"
    table: str
    partition: str
    batch_id: str

    @property
    def headline(self) -> str:
        return (
            f"{self.table} {self.partition}: batch {self.batch_id} was published under another version of the spec, "
            "nothing was changed."
        )

    @property
    def details(self) -> Sequence[str]:
        return ["the strategy deletes rows, and under other keys it would delete others"]

    @property
    def next_move(self) -> str:
        return (
            "To load it by the spec as it is now, trigger the range with the param 'force', or with "
            "'reprocess_behavior: stale' (StageMergeOperator: force=True; command line: --force)."
        )

"""insert_overwrite: the partition is exactly the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, ReplacePartition, ReplaceRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.staged import Scope, Staged
from airflow_idempotent.strategies.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class InsertOverwrite(Strategy):
    """Make the partition exactly the batch: rows that it lacks go, rows that are equal are not touched.

    What is cleared is the range of the partition, never that of the rows, so an empty batch empties it; a row outside
    it refuses the batch. With ``unique_key`` a changed row is updated in place; without it, rows are told apart by
    their content. An older batch, applied after a newer one of the partition, writes nothing.

    ``method: attach`` puts a new child table of a table PARTITION BY RANGE in the place of the old one, if they differ:
    faster where most rows do, and readers see one or the other.
    """

    kind: Literal["insert_overwrite"] = "insert_overwrite"
    method: Literal["diff", "attach"] = "diff"
    needs: ClassVar = {"partition_column": "which column says in which partition a row lies?"}
    scope: ClassVar[Scope] = Scope.PARTITION
    always_deduplicates: ClassVar[bool] = True
    refuses_outside: ClassVar[bool] = True
    deletes: ClassVar[bool] = True
    older: ClassVar[str] = "An older batch writes nothing: its rows are stale. Other partitions are left alone."
    late: ClassVar[str] = "late rows come with a new batch, which must hold all rows of its partition"

    def winner(self, version: tuple[str, ...]) -> str:
        inside = f"the greatest {', '.join(version)}" if version else "the row's content"
        return f"The newest batch of a partition is all of it; of two rows of one key inside a batch {inside} decides."

    def updates_in_place(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> bool:
        """Not in a child that is built anew, nor rows that no key tells apart."""
        return self.method == "diff" and bool(unique_key)

    def is_exclusive(self, target: TableShape, unique_key: tuple[str, ...]) -> bool:
        """Only to exchange children: two at once would wait for each other. Else the partition's lock is enough."""
        return self.method == "attach"

    def write(self, staged: Staged) -> tuple[Action, ...]:
        if self.method == "attach":
            column = staged.partition_column or ""
            words = (staged.target, staged.source, staged.columns, column, staged.partition, staged.unique_key)
            return (ReplacePartition(*words),)
        within = (staged.partition_column or "", staged.partition)
        names = (staged.target, staged.source, staged.columns, staged.unique_key)
        return (ReplaceRows(*names, within=within),)

"""append: every batch's rows once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, ReplaceRows
from airflow_idempotent.core.columns import BATCH_ID, Column, TableShape
from airflow_idempotent.core.staged import Scope, Staged
from airflow_idempotent.strategies.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class Append(Strategy):
    """Add the rows of every batch once, and keep each equal row as often as the batch has it.

    A column ``_idem_batch_id`` says which batch wrote a row. A newer batch of a partition takes the place of the
    older one: only what differs is written, rows of other partitions are left alone. With ``unique_key`` a batch
    has one row of a key, that of the greatest ``version``. An older batch, applied after a newer one, writes nothing.
    """

    kind: Literal["append"] = "append"
    scope: ClassVar[Scope] = Scope.PARTITION
    always_deduplicates: ClassVar[bool] = True
    indexed: ClassVar[tuple[str, ...]] = (BATCH_ID,)
    older: ClassVar[str] = "An older batch writes nothing: its rows are stale. Rows of other partitions are left alone."
    late: ClassVar[str] = "late rows come with a new batch, which takes the place of its partition's older one"

    def winner(self, version: tuple[str, ...]) -> str:
        return (
            "None: the newest batch of a partition counts, all rows of it; rows of other partitions stand beside them."
        )

    def own_columns(self, columns: Mapping[str, Column], version: tuple[str, ...]) -> tuple[Column, ...]:
        return (Column(BATCH_ID, "text"),)

    def created_key(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> tuple[str, ...]:
        """None: two partitions may bring the same key."""
        return ()

    def updates_in_place(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> bool:
        """Only rows that a key tells apart: others go and come."""
        return bool(unique_key)

    def is_exclusive(self, target: TableShape, unique_key: tuple[str, ...]) -> bool:
        """Never: no other partition's rows are written, and the partition is locked."""
        return False

    def write(self, staged: Staged) -> tuple[Action, ...]:
        names = (staged.target, staged.source, staged.columns, staged.unique_key)
        return (ReplaceRows(*names, partition=staged.partition, batch_id=staged.batch_id),)

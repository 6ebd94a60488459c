"""snapshot: the table is exactly the newest snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, ReplaceRows
from airflow_idempotent.core.columns import DELETED, Column, TableShape
from airflow_idempotent.core.staged import Scope, Staged
from airflow_idempotent.strategies.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class Snapshot(Strategy):
    """Make the whole table exactly the newest snapshot: only rows that differ are written.

    Rows that the snapshot lacks are deleted, or stay as they are (``on_missing: keep``), or are marked in
    ``soft_delete_column`` (``on_missing: soft_delete``) until they come back. A snapshot without rows is refused while
    the table has some, unless ``allow_empty`` is set or ``on_empty`` is ``publish_empty``; one that has a key twice is
    refused, unless ``version`` says which row counts. An older snapshot, applied after a newer one, writes nothing.
    """

    kind: Literal["snapshot"] = "snapshot"
    on_missing: Literal["delete", "keep", "soft_delete"] = "delete"
    allow_empty: bool = False
    soft_delete_column: str = DELETED
    scope: ClassVar[Scope] = Scope.TABLE
    always_deduplicates: ClassVar[bool] = True
    deletes: ClassVar[bool] = True
    writes_anywhere: ClassVar[bool] = True
    older: ClassVar[str] = (
        "An older snapshot, of this partition or of an earlier one, writes nothing: its rows are stale."
    )
    late: ClassVar[str] = "late rows come with the next snapshot"

    def winner(self, version: tuple[str, ...]) -> str:
        inside = f"the greatest {', '.join(version)} decides" if version else "the snapshot is refused"
        return f"The newest snapshot is all of the table; with two rows of one key in it {inside}."

    @property
    def _mark(self) -> str:
        return self.soft_delete_column if self.on_missing == "soft_delete" else ""

    def own_columns(self, columns: Mapping[str, Column], version: tuple[str, ...]) -> tuple[Column, ...]:
        return (Column(self._mark, "boolean", nullable=False),) if self._mark else ()

    def defaults(self) -> tuple[tuple[str, str], ...]:
        return ((self._mark, "false"),) if self._mark else ()

    def is_exclusive(self, target: TableShape, unique_key: tuple[str, ...]) -> bool:
        """Always: every snapshot writes the whole table."""
        return True

    def write(self, staged: Staged) -> tuple[Action, ...]:
        replace = ReplaceRows(
            staged.target,
            staged.source,
            staged.columns,
            staged.unique_key,
            on_missing=self.on_missing,
            deleted_column=self._mark,
            allow_empty=self.allow_empty or staged.allows_empty,
            refuse_repeats=not staged.version,
        )
        return (replace,)

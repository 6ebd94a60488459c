"""insert_only: per key the first version seen stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, Deduplicate, UpsertRows
from airflow_idempotent.core.staged import Staged
from airflow_idempotent.strategies.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class InsertOnly(Strategy):
    """Insert new keys; of the rows of one key the one with the smallest version stays, NULL is the smallest.

    Equal versions are decided by the smallest content. A smaller version that comes late replaces the row that is
    there, so that any order of batches ends in the same rows. Without ``version`` a key that is there is never touched,
    whatever the batch has for it: the first batch that brings a key decides.
    """

    kind: Literal["insert_only"] = "insert_only"
    needs: ClassVar = {"unique_key": "which columns tell which row is which?"}

    older: ClassVar[str] = "An older batch is like any other: its order of loading does not matter with a version."

    def winner(self, version: tuple[str, ...]) -> str:
        if not version:
            return "The batch that brings a key first; inside a batch, the smallest content. It is never replaced."
        ties = "equal ones are decided by the smallest content, so that the order of loading never matters"
        return f"{', '.join(version)}: the smallest wins, NULL is lowest; {ties}."

    def updates_in_place(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> bool:
        """Only when a smaller version may come late."""
        return bool(version)

    def prepare(self, staged: Staged) -> tuple[Action, ...]:
        """Before the gate: the smallest row of each key."""
        names = (staged.columns, staged.unique_key, staged.version)
        return (Deduplicate(staged.staging, staged.winners, *names, least=True),)

    def write(self, staged: Staged) -> tuple[Action, ...]:
        """Behind the gate: without version every batch is written like one that comes too late to replace anything."""
        return (
            UpsertRows(
                staged.target,
                staged.source,
                staged.columns,
                staged.unique_key,
                staged.version,
                deduplicated=staged.deduplicated,
                superseded=not staged.version,
                within=staged.within,
                least=True,
            ),
        )

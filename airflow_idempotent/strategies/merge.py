"""merge: per key the greatest version seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, UpsertRows
from airflow_idempotent.core.staged import Staged
from airflow_idempotent.strategies.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class Merge(Strategy):
    """Insert new keys, replace rows whose version is older, leave everything else alone.

    Equal versions with other content are decided by the row's content, a total order, so that any
    order of batches ends in the same rows. Without ``version`` the newest batch of a partition wins:
    an older one, applied after it, adds the keys that are missing and replaces nothing.
    """

    kind: Literal["merge"] = "merge"
    needs: ClassVar = {"unique_key": "which columns tell which row is which?"}

    def write(self, staged: Staged) -> tuple[Action, ...]:
        names = (staged.columns, staged.unique_key, staged.version)
        deduplicated = staged.deduplicated
        return (UpsertRows(staged.target, staged.source, *names, deduplicated=deduplicated, within=staged.within),)

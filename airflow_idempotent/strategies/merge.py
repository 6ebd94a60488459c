"""merge: per key the greatest version seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, Deduplicate, UpsertRows
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Insert new keys, replace rows whose version is older, leave everything else alone.

    Equal versions with other content are decided by the row's content, a total order, so that any
    order of batches ends in the same rows. Without ``version`` the newest batch of a partition wins:
    an older one, applied after it, adds the keys that are missing and replaces nothing.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    needs: ClassVar[tuple[str, ...]] = ("unique_key",)
    kind: Literal["merge"] = "merge"

    def prepare(
        self, *, staging: str, winners: str, columns: Sequence[str], unique_key: Sequence[str], version: Sequence[str]
    ) -> tuple[Action, ...]:
        """Before the gate: what would be published stands in ``winners``, for checks to look at."""
        return (Deduplicate(staging, winners, tuple(columns), tuple(unique_key), tuple(version)),)

    def write(
        self,
        *,
        target: Relation,
        source: str,
        deduplicated: bool,
        columns: Sequence[str],
        unique_key: Sequence[str],
        version: Sequence[str],
        within: tuple[str, Partition] | None = None,
    ) -> tuple[Action, ...]:
        """Behind the gate: from ``winners``, or straight from staging when there was nothing to check."""
        names = (tuple(columns), tuple(unique_key), tuple(version))
        return (UpsertRows(target, source, *names, deduplicated=deduplicated, within=within),)

"""merge: per key the greatest version seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, Deduplicate, DeleteMissing, RefuseTies, UpsertRows
from airflow_idempotent.core.staged import Scope, Staged
from airflow_idempotent.strategies.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class Merge(Strategy):
    """Insert new keys, replace rows whose version is older, leave everything else alone.

    Equal versions with other content are decided by the row's content, a total order, so that any
    order of batches ends in the same rows; ``on_tie: fail`` refuses them instead. Without ``version`` the newest batch
    of a partition wins: an older one, applied after it, adds the keys that are missing and replaces nothing.

    ``merge_update_columns`` are the only columns, or ``merge_exclude_columns`` all but the columns, that a row which is
    there takes from the batch; version columns are always among them, new rows take all. ``on_missing: delete``
    deletes the rows of the partition whose key its newest batch lacks.
    """

    kind: Literal["merge"] = "merge"
    merge_update_columns: tuple[str, ...] = ()
    merge_exclude_columns: tuple[str, ...] = ()
    on_tie: Literal["content", "fail"] = "content"
    on_missing: Literal["keep", "delete"] = "keep"
    needs: ClassVar = {"unique_key": "which columns tell which row is which?"}

    @property
    def demands(self) -> Mapping[str, str]:
        found = dict(self.needs)
        if self.on_missing == "delete":
            found["partition_column"] = "which column says what partition a row belongs to, for 'on_missing: delete'?"
        if self.on_tie == "fail":
            found["version"] = "which columns order two rows of one key, for 'on_tie: fail'?"
        return found

    @property
    def speaks_for(self) -> Scope:
        return Scope.KEYS if self.on_missing == "keep" else Scope.PARTITION

    @property
    def stays_inside(self) -> bool:
        return self.on_missing == "delete"

    def moves(self, column: str) -> bool:
        return column not in self.merge_exclude_columns and (
            not self.merge_update_columns or column in self.merge_update_columns
        )

    @property
    def said_of_older(self) -> str:
        if self.on_missing == "keep":
            return self.older
        return "An older batch writes nothing: its rows are stale. Other partitions are left alone."

    def winner(self, version: tuple[str, ...]) -> str:
        said = []
        if self.on_tie == "fail":
            said.append(
                f"{', '.join(version)}: the greatest wins, NULL is lowest; two rows of one version are refused."
            )
        if self.merge_update_columns:
            also = f" and {', '.join(version)}" if version else ""
            said.append(f"A row that is there takes {', '.join(self.merge_update_columns)}{also} only.")
        if self.merge_exclude_columns:
            said.append(f"A row that is there keeps its {', '.join(self.merge_exclude_columns)}.")
        if self.on_missing == "delete":
            said.append("Rows of the partition whose key its newest batch lacks are deleted.")
        if said and self.on_tie == "content":
            order = f"{', '.join(version)}: the greatest wins, NULL is lowest" if version else "The newest batch wins"
            said.insert(0, f"{order}; ties are decided by the row's content.")
        return " ".join(said)

    @property
    def target_columns_used(self) -> Mapping[str, str]:
        given = {name: getattr(self, name) for name in ("merge_update_columns", "merge_exclude_columns")}
        return {f"{option}.{n}": name for option, names in given.items() for n, name in enumerate(names)}

    def problems(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if self.merge_update_columns and self.merge_exclude_columns:
            yield "strategy.merge_exclude_columns", "goes without 'merge_update_columns' only: keep one of them"
        for name in self.merge_update_columns:
            if name in unique_key:
                yield "strategy.merge_update_columns", f"column {name!r} is in the unique_key: a key is never updated"
        for name in self.merge_exclude_columns:
            if name in version:
                always = "always updated, or the same row would win again and again"
                yield "strategy.merge_exclude_columns", f"column {name!r} is in version: {always}"

    def prepare(self, staged: Staged) -> tuple[Action, ...]:
        names = (staged.columns, staged.unique_key, staged.version)
        content = () if self._updates(staged) is None else self._upsert(staged).content
        return (Deduplicate(staged.staging, staged.winners, *names, content=content),)

    def write(self, staged: Staged) -> tuple[Action, ...]:
        upsert = self._upsert(staged)
        actions: list[Action] = [upsert]
        if self.on_tie == "fail":
            everywhere = replace(upsert, within=None)  # only the write knows whether all rows lie in one child
            actions.append(RefuseTies(staged.target, staged.staging, everywhere))
        if self.on_missing == "delete" and staged.partition_column:
            source, by = staged.source, staged.partition_column
            missing = DeleteMissing(staged.target, source, staged.unique_key, by, staged.partition)
            actions.insert(0, missing)
        return tuple(actions)

    def _upsert(self, staged: Staged) -> UpsertRows:
        return UpsertRows(
            staged.target,
            staged.source,
            staged.columns,
            staged.unique_key,
            staged.version,
            deduplicated=staged.deduplicated,
            within=staged.within,
            updates=self._updates(staged),
            decides_ties=self.on_tie == "content",
            complete=self.on_missing == "delete",
        )

    def _updates(self, staged: Staged) -> tuple[str, ...] | None:
        """The columns that a row which is there takes from the batch; None for all."""
        if self.merge_update_columns:
            wanted = {*self.merge_update_columns, *staged.version}
            return tuple(name for name in staged.columns if name in wanted)
        if self.merge_exclude_columns:
            return tuple(name for name in staged.columns if name not in self.merge_exclude_columns)
        return None

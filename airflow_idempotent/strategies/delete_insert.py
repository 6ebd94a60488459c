"""delete_insert: the keys of the batch are replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from airflow_idempotent.core.actions import Action, ReplaceRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.staged import Staged
from airflow_idempotent.strategies.strategy import Strategy


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class DeleteInsert(Strategy):
    """Replace all rows of the keys that the batch has by the batch's rows of them; other keys are left alone.

    ``merge_key`` are the columns of that key, by default the ``unique_key``: with ``merge_key: order_id`` the lines of
    an order come and go together. Rows are replaced whole: columns that the batch lacks get their default; rows that
    are equal are not touched. With ``version`` a key's rows win whose greatest version is greatest, and their content
    breaks ties, so that any order of batches ends in the same rows. Without it the newest batch of a partition wins: an
    older one, applied after it, adds the keys that are missing.
    """

    kind: Literal["delete_insert"] = "delete_insert"
    merge_key: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    always_deduplicates: ClassVar[bool] = True
    deletes: ClassVar[bool] = True
    writes_anywhere: ClassVar[bool] = True
    older: ClassVar[str] = (
        "An older batch replaces no newer rows of a key: its own are stale. Other keys are left alone."
    )
    late: ClassVar[str] = "late rows of a key come with a new batch, which must hold all rows of that key"

    def winner(self, version: tuple[str, ...]) -> str:
        if not version:
            return "No version: the rows of a key come from the newest batch of a partition."
        greatest = f"those with the greatest {', '.join(version)} win, NULL is lowest"
        return (
            f"The rows of a key are replaced together: {greatest}; equal ones are decided by the content of all rows."
        )

    @property
    def target_columns_used(self) -> Mapping[str, str]:
        return {f"merge_key.{number}": name for number, name in enumerate(self.merge_key)}

    def problems(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if not (unique_key or self.merge_key):
            yield (
                "strategy.merge_key",
                "required by strategy 'delete_insert' without 'unique_key': which rows go together?",
            )
        for name in self.merge_key if unique_key else ():
            if name not in unique_key:
                yield (
                    "strategy.merge_key",
                    f"{name!r} is not in 'unique_key': one row would be of two keys of this merge_key",
                )

    def never_null(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> tuple[str, ...]:
        return unique_key or self.merge_key

    def created_key(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> tuple[str, ...]:
        return unique_key

    def is_exclusive(self, target: TableShape, unique_key: tuple[str, ...]) -> bool:
        """Unless each key is one row that an index keeps single."""
        keys = {*(self.merge_key or unique_key)}
        return keys != {*unique_key} or not target.is_unique(unique_key)

    def write(self, staged: Staged) -> tuple[Action, ...]:
        names = (staged.target, staged.source, staged.columns, staged.unique_key, staged.version)
        return (ReplaceRows(*names, keys=self.merge_key or staged.unique_key, whole=True),)

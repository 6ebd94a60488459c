"""scd2: one row per version, with the interval in which it held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from airflow_idempotent.core.actions import Action, Deduplicate, RebuildIntervals
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.staged import Staged
from airflow_idempotent.strategies.strategy import Strategy


@dataclass(frozen=True, kw_only=True)
class Scd2(Strategy):
    """Keep every version of a key as a row of its own, valid from its version to the next one.

    ``valid_from`` and ``valid_to`` are columns of the table that we fill, half-open, and NULL is the end of the newest
    row; ``is_current`` names a third one, if wanted, that is true of it. They follow from all versions that were ever
    loaded, so that batches may come in any order: a late version splits the interval it falls into. The same version
    twice with other content is decided by the greater content. Rows that say the same as the one before them stay
    rows of their own, and a NULL version is refused.
    """

    kind: Literal["scd2"] = "scd2"
    valid_from: str = "valid_from"
    valid_to: str = "valid_to"
    is_current: str | None = None
    needs: ClassVar = {
        "unique_key": "which columns tell what the versions are versions of?",
        "version": "which column says from when on a row holds?",
    }
    always_deduplicates: ClassVar[bool] = True
    writes_anywhere: ClassVar[bool] = True

    older: ClassVar[str] = (
        "An older batch is like any other: it adds the versions that are missing. Other keys are left alone."
    )
    late: ClassVar[str] = "a late version splits the interval it falls into"

    def winner(self, version: tuple[str, ...]) -> str:
        axis = ", ".join(version)
        return f"None: every {axis} of a key stays, each until the next; of two rows of one, the greater content stays."

    def problems(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if len(version) > 1:
            yield "version", "strategy 'scd2' takes one column: it is the time axis of the history"
        for name in version:
            if name in unique_key:
                yield "unique_key", f"column {name!r} is the version: every row would be a key with one version"
        used: dict[str, str] = dict.fromkeys(unique_key, "unique_key") | dict.fromkeys(version, "version")
        for option in ("valid_from", "valid_to", "is_current"):
            if name := getattr(self, option):
                if name in used:
                    yield f"strategy.{option}", f"column {name!r} is {used[name]!r} already: it needs one of its own"
                used[name] = option

    def never_null(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> tuple[str, ...]:
        return (*unique_key, *version)

    def own_columns(self, columns: Mapping[str, Column], version: tuple[str, ...]) -> tuple[Column, ...]:
        axis = columns.get(version[0]) if version else None
        kind = axis.data_type if axis else "timestamp with time zone"
        current = (Column(self.is_current, "boolean"),) if self.is_current else ()
        return (Column(self.valid_from, kind), Column(self.valid_to, kind), *current)

    def created_key(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> tuple[str, ...]:
        return (*unique_key, *version)

    def is_exclusive(self, target: TableShape, unique_key: tuple[str, ...]) -> bool:
        """Always: two batches with versions of one key would each end an interval without knowing of the other."""
        return True

    def prepare(self, staged: Staged) -> tuple[Action, ...]:
        """Before the gate: one row per key and version."""
        row_key = (*staged.unique_key, *staged.version)
        return (Deduplicate(staged.staging, staged.winners, staged.columns, row_key),)

    def winners_key(self, staged: Staged) -> tuple[str, ...]:
        return (*staged.unique_key, *staged.version) if staged.deduplicated else ()

    def write(self, staged: Staged) -> tuple[Action, ...]:
        names = (staged.target, staged.source, staged.columns, staged.unique_key, staged.version[0])
        return (RebuildIntervals(*names, self.valid_from, self.valid_to, self.is_current),)

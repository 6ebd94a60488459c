"""Change streams that cannot be understood as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class UnknownOpError(IdempotentError):
    """Events have codes that ``op_map`` does not explain; to guess would be to write or to delete by chance."""

    anchor: ClassVar[str] = "unknown-op"
    table: str
    partition: str
    column: str
    codes: tuple[tuple[str | None, int], ...]
    known: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: unknown codes in column {self.column!r}, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        shown = [f"{'NULL' if code is None else repr(code)}: {count:,} row(s)" for code, count in self.codes[:10]]
        more = [f"and {len(self.codes) - 10:,} more codes"] if len(self.codes) > 10 else []
        return [*shown, *more, f"known are {', '.join(self.known)}"]

    @property
    def next_move(self) -> str:
        return "Name them in 'strategy.op_map', or keep such rows out of the source, then clear this task."


@dataclass(eq=False, kw_only=True)
class UnknownValueError(IdempotentError):
    """Events leave out values that are in no older event of the batch and not in the target."""

    anchor: ClassVar[str] = "unknown-value"
    table: str
    partition: str
    columns: tuple[tuple[str, int], ...]
    unique_key: tuple[str, ...]

    @property
    def headline(self) -> str:
        return (
            f"{self.table} {self.partition}: values left out as unchanged are nowhere to be found; nothing was loaded."
        )

    @property
    def details(self) -> Sequence[str]:
        key = ", ".join(self.unique_key)
        return [f"column {name!r}: {count:,} key(s) of ({key}) without an older value" for name, count in self.columns]

    @property
    def next_move(self) -> str:
        return "Load the batches that hold these rows first, or have the source send full rows, then clear this task."

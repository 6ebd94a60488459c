"""Swaps and rollbacks that would lose something, or that are too late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class ShadowError(IdempotentError):
    """A table cannot take the place of the live one as it is."""

    anchor: ClassVar[str] = "shadow"
    table: str
    shadow: str
    reasons: tuple[str, ...]
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.table}: {self.shadow or 'no shadow'} cannot take its place, nothing was swapped."

    @property
    def details(self) -> Sequence[str]:
        return self.reasons

    @property
    def next_move(self) -> str:
        return self.hint or "Correct the shadow, then swap again; readers still read the old table."


@dataclass(eq=False, kw_only=True)
class CutoverError(IdempotentError):
    """A version of a table is not ready to be read. ``waiting`` when further loads make it so."""

    anchor: ClassVar[str] = "cutover"
    table: str
    version: int
    reasons: tuple[str, ...]
    waiting: bool = False

    @property
    def headline(self) -> str:
        return f"{self.table}: version {self.version} is not ready, nothing was swapped."

    @property
    def details(self) -> Sequence[str]:
        return self.reasons

    @property
    def next_move(self) -> str:
        if any("live table: " in reason for reason in self.reasons):
            look = f"airflow-idempotent versions {self.table} --divergence shows what differs"
            return f"{look}; what is meant belongs into publish.expect, then validate it again (target=shadow)."
        if self.waiting:
            return "Load what is missing with the param target=shadow (command line: run --target shadow), then swap."
        return "Look at both; if the difference is meant, raise publish.max_row_change, then clear this task."


@dataclass(eq=False, kw_only=True)
class DependentsError(IdempotentError):
    """Something hangs on the live table that would stay with the old one, or be lost."""

    anchor: ClassVar[str] = "dependents"
    table: str
    shadow: str
    losses: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.table}: {len(self.losses)} thing(s) would not follow to {self.shadow}, nothing was swapped."

    @property
    def details(self) -> Sequence[str]:
        return self.losses

    @property
    def next_move(self) -> str:
        return "Give the shadow the same, or take them off the live table, then swap again."


@dataclass(eq=False, kw_only=True)
class SwapSupersededError(IdempotentError):
    """A run that has swapped once is run again after another swap: it would put an old version back."""

    anchor: ClassVar[str] = "swap-superseded"
    table: str
    version: int
    state: str
    live_version: int
    live_run: str
    at: str
    command: str = ""

    @property
    def headline(self) -> str:
        live = f"version {self.live_version} is live"
        return f"{self.table}: version {self.version} is {self.state}, {live}; nothing was swapped."

    @property
    def details(self) -> Sequence[str]:
        return [f"version {self.live_version} became live at {self.at} by {self.live_run or 'the command line'}"]

    @property
    def next_move(self) -> str:
        again = f"airflow-idempotent rollback {self.table} --to {self.version}"
        return self.command or f"If the old version is really wanted: {again}"


@dataclass(eq=False, kw_only=True)
class RollbackError(IdempotentError):
    """There is no version to go back to, or not any more."""

    anchor: ClassVar[str] = "rollback"
    table: str
    version: int | None
    reason: str
    kept: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        to = f" to version {self.version}" if self.version is not None else ""
        return f"{self.table}: cannot be rolled back{to}: {self.reason}; nothing was changed."

    @property
    def details(self) -> Sequence[str]:
        return self.kept

    @property
    def next_move(self) -> str:
        return f"airflow-idempotent versions {self.table} shows what is kept; name one of those with --to."


@dataclass(eq=False, kw_only=True)
class JournalError(IdempotentError):
    """The tables are not what the journal of versions says: somebody has renamed or dropped one by hand."""

    anchor: ClassVar[str] = "journal"
    table: str
    problems: tuple[str, ...]
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.table}: the tables are not what the journal says, nothing was changed."

    @property
    def details(self) -> Sequence[str]:
        return self.problems

    @property
    def next_move(self) -> str:
        return self.hint or "Give the tables their names back (ALTER TABLE … RENAME TO …), then run it again."


@dataclass(eq=False, kw_only=True)
class WritesLostError(IdempotentError):
    """A rollback would take back loads that were made since the swap, since they were not made twice."""

    anchor: ClassVar[str] = "writes-lost"
    table: str
    version: int
    live_version: int
    partitions: tuple[str, ...]

    @property
    def headline(self) -> str:
        would = f"{len(self.partitions):,} partition(s) would go back in time"
        return f"{self.table}: a rollback to version {self.version} loses loads, {would}; nothing was changed."

    @property
    def details(self) -> Sequence[str]:
        shown = [f"{key} was loaded into version {self.live_version} only" for key in self.partitions[:10]]
        more = len(self.partitions) - len(shown)
        return [*shown, f"and {more:,} more"] if more else shown

    @property
    def next_move(self) -> str:
        again = "and load those partitions again afterwards"
        return f"To go back all the same: airflow-idempotent rollback {self.table} --accept-loss, {again}."

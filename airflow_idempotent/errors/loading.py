"""Batches that do not fit their table, and checks that keep them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from airflow_idempotent.errors.base import IdempotentError

if TYPE_CHECKING:
    from airflow_idempotent.core.verdict import CheckResult


@dataclass(eq=False, kw_only=True)
class SchemaDriftError(IdempotentError):
    """The columns of the batch, the spec and the target do not fit together."""

    anchor: ClassVar[str] = "schema-drift"
    table: str
    problems: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.table}: columns do not fit, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return self.problems

    @property
    def next_move(self) -> str:
        return "Correct the source or the spec, or choose another 'on_schema_change': ignore, append_new_columns, …"


@dataclass(eq=False, kw_only=True)
class TargetMissingError(IdempotentError):
    """The target table does not exist and the spec has no ``columns`` to create it from."""

    anchor: ClassVar[str] = "target-missing"
    table: str
    similar: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        return f"{self.table}: no such table, and the spec has no 'columns' to create it from; nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [f"did you mean {name!r}?" for name in self.similar]

    @property
    def next_move(self) -> str:
        return "Add 'columns' to the spec, or create the table."


@dataclass(eq=False, kw_only=True)
class GateClosedError(IdempotentError):
    """Checks of severity error failed, so nothing became visible."""

    anchor: ClassVar[str] = "gate-closed"
    table: str
    partition: str
    batch_id: str
    failures: tuple[str, ...]
    results: tuple[CheckResult, ...] = ()
    published: bool = False

    @property
    def headline(self) -> str:
        count = len(self.failures)
        what = "the rows are published but not validated" if self.published else "nothing was published"
        return f"{self.table} {self.partition}: {count} check{'s' if count != 1 else ''} failed, {what}."

    @property
    def details(self) -> Sequence[str]:
        return self.failures

    @property
    def next_move(self) -> str:
        return f"Fix the source or the check, then clear this task. The landed batch {self.batch_id} is kept."


@dataclass(eq=False, kw_only=True)
class CheckQueryError(IdempotentError):
    """The warehouse refused the query of a check: it could not be said whether the rows are good."""

    anchor: ClassVar[str] = "check-query"
    table: str
    partition: str
    checks: tuple[str, ...]
    reason: str
    published: bool = False

    @property
    def headline(self) -> str:
        asked = f"check {self.checks[0]}" if len(self.checks) == 1 else f"one of {len(self.checks)} checks"
        what = "the rows are published but not validated" if self.published else "nothing was published"
        return f"{self.table} {self.partition}: {asked} could not be asked ({self.reason}), {what}."

    @property
    def details(self) -> Sequence[str]:
        return self.checks if len(self.checks) > 1 else ()

    @property
    def next_move(self) -> str:
        return "Correct the check, its 'where', or the tables its query reads; then clear this task."


@dataclass(eq=False, kw_only=True)
class ConstraintError(IdempotentError):
    """A constraint, trigger or policy of the target refused the rows; the transaction was rolled back."""

    anchor: ClassVar[str] = "constraint"
    table: str
    partition: str
    reason: str

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: the target refused the rows ({self.reason}), nothing was changed."

    @property
    def next_move(self) -> str:
        return "Correct the rows at their source or the constraint, then clear this task."


@dataclass(eq=False, kw_only=True)
class StillReferencedError(IdempotentError):
    """Rows of another table refer to duplicates that would go; the transaction was rolled back.

    ``effect`` is what the foreign key would have done to them instead of refusing, if anything.
    """

    anchor: ClassVar[str] = "still-referenced"
    table: str
    partition: str
    constraint: str
    referring: str
    effect: str = ""
    count: int | None = None

    @property
    def headline(self) -> str:
        return (
            f"{self.table} {self.partition}: rows of {self.referring} refer to duplicates "
            f"(foreign key {self.constraint!r}), nothing was removed in this chunk."
        )

    @property
    def details(self) -> Sequence[str]:
        if not self.effect:
            return ()
        return [f"{self.effect}: {self.count or 0:,} row(s) of {self.referring} would be changed or deleted along"]

    @property
    def next_move(self) -> str:
        return "Point those rows to the row that stays, or delete them, then run it again: it goes on from there."

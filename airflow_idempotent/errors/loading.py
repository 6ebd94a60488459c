"""Batches that no rule can load, and checks that keep them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from airflow_idempotent.errors.base import IdempotentError

if TYPE_CHECKING:
    from airflow_idempotent.core.verdict import CheckResult


@dataclass(eq=False, kw_only=True)
class BadRowError(IdempotentError):
    """PostgreSQL refused a value of the batch while reading it."""

    anchor: ClassVar[str] = "bad-row"
    table: str
    partition: str
    file: str
    line: int | None
    column: str | None
    reason: str

    @property
    def headline(self) -> str:
        where = (
            self.file
            + (f" line {self.line}" if self.line else "")
            + (f" column {self.column!r}" if self.column else "")
        )
        return f"{self.table} {self.partition}: {where}: {self.reason}. Nothing was loaded."

    @property
    def next_move(self) -> str:
        return "Correct the file at its source (or its format options in the spec), then clear 'land' and what follows."


@dataclass(eq=False, kw_only=True)
class NullKeyError(IdempotentError):
    """Rows have NULL in a column of the unique key, so no rule could say which row they are."""

    anchor: ClassVar[str] = "null-key"
    table: str
    partition: str
    columns: tuple[tuple[str, int], ...]

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: NULL in the unique key, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [f"column {name!r}: {count} row(s)" for name, count in self.columns]

    @property
    def next_move(self) -> str:
        return "Correct the rows at their source, or choose a unique_key whose columns are always filled."


@dataclass(eq=False, kw_only=True)
class OutsidePartitionError(IdempotentError):
    """Rows lie outside the partition that the batch would replace, so another partition holds them too."""

    anchor: ClassVar[str] = "outside-partition"
    table: str
    partition: str
    column: str
    count: int
    least: str | None
    greatest: str | None

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.count:,} row(s) lie outside the partition, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        if self.least is None:
            return [f"column {self.column!r} is NULL in all rows"]
        return [f"column {self.column!r}: from {self.least} to {self.greatest}, or NULL"]

    @property
    def next_move(self) -> str:
        return "Deliver each partition its own rows, or choose a strategy that does not replace the partition."


@dataclass(eq=False, kw_only=True)
class RepeatedKeyError(IdempotentError):
    """The target holds keys of the batch more than once, so no rule could say which row is which."""

    anchor: ClassVar[str] = "repeated-key"
    table: str
    partition: str
    unique_key: tuple[str, ...]
    count: int

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: {self.count:,} keys of the batch are twice in the target; nothing done."

    @property
    def next_move(self) -> str:
        return f"Remove the duplicates and add a unique index on ({', '.join(self.unique_key)}), then clear this task."


@dataclass(eq=False, kw_only=True)
class PrecisionError(IdempotentError):
    """Values have more decimal places than the target column keeps; they would be rounded silently."""

    anchor: ClassVar[str] = "precision"
    table: str
    partition: str
    columns: tuple[tuple[str, str, int], ...]

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: values would be rounded by the target, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [
            f"column {name!r} is {data_type}: {count} value(s) have more places"
            for name, data_type, count in self.columns
        ]

    @property
    def next_move(self) -> str:
        return "Widen the column (ALTER TABLE … ALTER COLUMN … TYPE …) or round at the source, then clear this task."


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
        return "Correct the source or the spec; 'on_schema_change: ignore' leaves columns out that the target lacks."


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

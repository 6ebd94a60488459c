"""Every error the product raises: facts as attributes, what was not done, what to type next.

The text has one form: *headline* (subject: fact, what was left as it was), *details* one per
line, *next move*. Whether a retry can help is a property of the error, not of its reader.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from airflow_idempotent.core.verdict import CheckResult


@dataclass(eq=False, kw_only=True)
class IdempotentError(Exception):
    """Base of all our errors; never raised itself.

    ``retryable`` says whether the same attempt may succeed later without anybody's help.
    ``anchor`` names the paragraph of docs/runbook.md that explains the error.
    """

    retryable: ClassVar[bool] = False
    anchor: ClassVar[str] = ""

    @property
    def headline(self) -> str:
        raise NotImplementedError

    @property
    def details(self) -> Sequence[str]:
        return ()

    @property
    def next_move(self) -> str:
        return ""

    def __str__(self) -> str:
        lines = [self.headline, *(f"  - {line}" for line in self.details), self.next_move]
        if self.anchor:
            lines.append(f"Runbook: {self.anchor}")
        return "\n".join(line for line in lines if line)

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        return functools.partial(type(self), **facts), ()


# --- what the user wrote ---------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class SpecError(IdempotentError):
    """A table spec cannot be used. All its problems are in ``problems``, as (path, text)."""

    anchor: ClassVar[str] = "spec-error"
    file: str
    problems: tuple[tuple[str, str], ...]

    @property
    def headline(self) -> str:
        count = len(self.problems)
        return f"{self.file}: {count} problem{'s' if count != 1 else ''}, no DAG was built from it."

    @property
    def details(self) -> Sequence[str]:
        return [f"{path}: {text}" if path else text for path, text in self.problems]

    @property
    def next_move(self) -> str:
        return f"Correct the file, then: airflow-idempotent lint {self.file}"


@dataclass(eq=False, kw_only=True)
class ArgumentsError(SpecError):
    """The arguments of an operator cannot be used; ``file`` names its task."""

    anchor: ClassVar[str] = "arguments"

    @property
    def headline(self) -> str:
        count = len(self.problems)
        return (
            f"{self.file}: {count} problem{'s' if count != 1 else ''} with the operator's arguments, nothing was run."
        )

    @property
    def next_move(self) -> str:
        return "Correct the DAG file, then clear this task."


@dataclass(eq=False, kw_only=True)
class DuplicateTableError(IdempotentError):
    """Two spec files claim one table or one dag_id; neither is used."""

    anchor: ClassVar[str] = "duplicate-table"
    name: str
    files: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.name}: claimed by {len(self.files)} spec files, no DAG was built from any of them."

    @property
    def details(self) -> Sequence[str]:
        return self.files

    @property
    def next_move(self) -> str:
        return "Keep one of the files, or set a different 'dag_id' or 'table' in the others."


@dataclass(eq=False, kw_only=True)
class SpecChangedError(IdempotentError):
    """The spec was edited after this run had planned; the run stops before it writes."""

    anchor: ClassVar[str] = "spec-changed"
    table: str
    planned: str
    found: str

    @property
    def headline(self) -> str:
        return (
            f"{self.table}: the spec changed while this run was in progress "
            f"(planned {self.planned[:12]}, now {self.found[:12]}), nothing was written."
        )

    @property
    def next_move(self) -> str:
        return "Clear the 'plan' task of this run with its downstream tasks, so that it runs under the new spec."


@dataclass(eq=False, kw_only=True)
class UsageError(IdempotentError):
    """A command was typed in a way that names nothing to do."""

    anchor: ClassVar[str] = "usage"
    command: str
    reason: str
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.command}: {self.reason}; nothing was done."

    @property
    def next_move(self) -> str:
        return self.hint or f"Look at: {self.command} --help"


# --- which partitions ------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class NoPartitionError(IdempotentError):
    """A run says neither by its data interval nor by its params which partitions it means."""

    anchor: ClassVar[str] = "no-partition"
    table: str
    reason: str = "this run has no data interval and no params that name partitions"
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.table}: {self.reason}, nothing was run."

    @property
    def next_move(self) -> str:
        example = '{"from_date": "2025-05-01", "to_date": "2025-05-02"}'
        return self.hint or f"Trigger it with {example} (half-open), or with a logical date."


@dataclass(eq=False, kw_only=True)
class ParamsError(IdempotentError):
    """Params of a run are unknown or cannot be read. All its problems are in ``problems``, as (param, text)."""

    anchor: ClassVar[str] = "params"
    table: str
    problems: tuple[tuple[str, str], ...]

    @property
    def headline(self) -> str:
        count = len(self.problems)
        return f"{self.table}: {count} param{'s' if count != 1 else ''} of this run refused, nothing was run."

    @property
    def details(self) -> Sequence[str]:
        return [f"{name}: {text}" for name, text in self.problems]

    @property
    def next_move(self) -> str:
        return "Trigger it again with the params corrected; the trigger form of the DAG describes each."


@dataclass(eq=False, kw_only=True)
class RangeError(IdempotentError):
    """A range of partitions is empty, reversed, or cannot be read as dates."""

    anchor: ClassVar[str] = "range"
    table: str
    from_date: str
    to_date: str
    reason: str = "from_date must be before to_date"

    @property
    def headline(self) -> str:
        return f"{self.table}: range {self.from_date!r} to {self.to_date!r} refused ({self.reason}), nothing was run."

    @property
    def next_move(self) -> str:
        return "The range is half-open: to load May 2025 pass from_date 2025-05-01 and to_date 2025-06-01."


@dataclass(eq=False, kw_only=True)
class OutOfRangeError(IdempotentError):
    """Partitions were asked for outside ``[start_date, end_date)`` of the table."""

    anchor: ClassVar[str] = "out-of-range"
    table: str
    partitions: tuple[str, ...]
    start_date: str
    end_date: str

    @property
    def headline(self) -> str:
        return (
            f"{self.table}: {len(self.partitions)} partition(s) lie outside "
            f"[{self.start_date}, {self.end_date or 'open'}), nothing was run."
        )

    @property
    def details(self) -> Sequence[str]:
        shown = self.partitions[:5]
        more = len(self.partitions) - len(shown)
        return [*shown, *([f"and {more} more"] if more else [])]

    @property
    def next_move(self) -> str:
        return "Ask for partitions inside the range, or widen start_date / end_date in the spec."


# --- landing ---------------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class SourceMissingError(IdempotentError):
    """No input was found for a partition. Retryable: it may arrive later."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "source-missing"
    table: str
    partition: str
    source: str

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: no input at {self.source!r}, nothing was landed."

    @property
    def next_move(self) -> str:
        return "Deliver the input and clear this task, or set 'on_empty: skip' if an empty partition is normal."


@dataclass(eq=False, kw_only=True)
class BadFileError(IdempotentError):
    """An input file cannot be read as what the spec says it is."""

    anchor: ClassVar[str] = "bad-file"
    file: str
    reason: str
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.file}: {self.reason}, nothing was landed from it."

    @property
    def next_move(self) -> str:
        return self.hint or "Correct the file at its source, then clear this task."


@dataclass(eq=False, kw_only=True)
class FileChangingError(BadFileError):
    """An input file changed while it was read. Retryable: its writer may be done by then."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "file-changing"
    reason: str = "changed while it was read"

    @property
    def next_move(self) -> str:
        return (
            "The retry reads it again. Its writer should use a name beginning with '.' and rename it when it is whole."
        )


@dataclass(eq=False, kw_only=True)
class SourceQueryError(IdempotentError):
    """The source database refused the query, or the query names a bind that has no value."""

    anchor: ClassVar[str] = "source-query"
    table: str
    partition: str
    reason: str
    sqlstate: str = ""

    @property
    def headline(self) -> str:
        code = f" [{self.sqlstate}]" if self.sqlstate else ""
        return f"{self.table} {self.partition}: the source query failed: {self.reason}{code}. Nothing was landed."

    @property
    def next_move(self) -> str:
        return "Correct 'source.sql' or the rights of its connection, then clear this task."


@dataclass(eq=False, kw_only=True)
class SourceUnavailableError(SourceQueryError):
    """The source database went away or cancelled the query. Retryable: the query may run another time."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "source-unavailable"

    @property
    def next_move(self) -> str:
        return "The retry runs the query again from its beginning; clear this task if its retries are used up."


@dataclass(eq=False, kw_only=True)
class SourceChangedError(IdempotentError):
    """The source has other content than the landed batch, and the spec forbids a new batch."""

    anchor: ClassVar[str] = "source-changed"
    table: str
    partition: str
    batch_id: str
    changed: tuple[str, ...]

    @property
    def headline(self) -> str:
        return (
            f"{self.table} {self.partition}: the source differs from batch {self.batch_id}, "
            "which is kept; no new batch was landed."
        )

    @property
    def details(self) -> Sequence[str]:
        return self.changed

    @property
    def next_move(self) -> str:
        return "Set 'landing.on_source_change: new_batch' to accept corrections, or restore the source."


@dataclass(eq=False, kw_only=True)
class ManifestError(IdempotentError):
    """A batch has no readable manifest, so for every reader it is not landed."""

    anchor: ClassVar[str] = "manifest"
    address: str
    reason: str

    @property
    def headline(self) -> str:
        return f"{self.address}: {self.reason}, nothing was loaded."

    @property
    def next_move(self) -> str:
        return "Clear the 'land' task of this partition; it lands the batch again and changes nothing that is complete."


@dataclass(eq=False, kw_only=True)
class BatchDamagedError(IdempotentError):
    """Landed bytes are not those the manifest promises."""

    anchor: ClassVar[str] = "batch-damaged"
    file: str
    expected: str
    found: str

    @property
    def headline(self) -> str:
        return f"{self.file}: the landed file is not what its manifest says, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [f"manifest: {self.expected}", f"found: {self.found}"]

    @property
    def next_move(self) -> str:
        return "Delete the folder of this batch and clear the 'land' task, so that it is landed again from the source."


# --- loading ---------------------------------------------------------------------------------------


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


# --- the database ----------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True)
class DatabaseError(IdempotentError):
    """The database refused a statement or went away; the transaction was rolled back."""

    anchor: ClassVar[str] = "database"
    table: str
    partition: str
    reason: str
    sqlstate: str = ""

    @property
    def headline(self) -> str:
        code = f" [{self.sqlstate}]" if self.sqlstate else ""
        return f"{self.table} {self.partition}: {self.reason}{code}, nothing was changed."

    @property
    def next_move(self) -> str:
        return "Clear this task when the cause is gone; running it again is safe."


@dataclass(eq=False, kw_only=True)
class UnreachableError(IdempotentError):
    """No connection to a database could be opened. Retryable: the server may be up again by then."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "unreachable"
    address: str
    reason: str
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.address}: cannot connect ({self.reason}), nothing was done."

    @property
    def next_move(self) -> str:
        return self.hint or "Start the server, or correct the address, and try again; running it again is safe."


@dataclass(eq=False, kw_only=True)
class ConnectionLostError(DatabaseError):
    """The connection broke. Whether the commit happened is in the ledger; a retry reads it there."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "connection-lost"

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: the connection was lost ({self.reason})."

    @property
    def next_move(self) -> str:
        return "The retry reads the ledger: it finds both rows and receipt, or neither."


@dataclass(eq=False, kw_only=True)
class LockTimeoutError(DatabaseError):
    """Another session held the table or the partition for longer than ``lock_timeout``."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "lock-timeout"
    holders: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: locked by another session for too long, nothing was changed."

    @property
    def details(self) -> Sequence[str]:
        return self.holders

    @property
    def next_move(self) -> str:
        return "Wait for that session, or end it (select pg_terminate_backend(pid)); then clear this task."


@dataclass(eq=False, kw_only=True)
class ServerBusyError(DatabaseError):
    """The server ran out of connections, memory or disk, or parallel writers stayed in each other's way."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "server-busy"

    @property
    def next_move(self) -> str:
        return "The retry runs it again; if that goes on, give the server what it lacks or run fewer loads at once."


@dataclass(eq=False, kw_only=True)
class StatementTimeoutError(DatabaseError):
    """A statement ran longer than ``statement_timeout`` (or was cancelled by an operator)."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "statement-timeout"

    @property
    def headline(self) -> str:
        return (
            f"{self.table} {self.partition}: timeout, the statement was cancelled ({self.reason}); nothing was changed."
        )

    @property
    def next_move(self) -> str:
        return "Raise 'statement_timeout' in the spec or the operator, then clear this task."


def facts(error: IdempotentError) -> Mapping[str, Any]:
    """The facts of an error as plain values, for ``--json`` output and the ledger."""
    return {field.name: getattr(error, field.name) for field in fields(error)}

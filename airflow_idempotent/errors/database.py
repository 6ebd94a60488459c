"""What the database refuses, and how long others held it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


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

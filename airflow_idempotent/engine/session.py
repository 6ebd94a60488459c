"""One connection, one transaction at a time; psycopg2 and psycopg 3 alike, told apart by what they can do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.sql.catalog import LEFTOVERS, columns_of, drop_temporary, similar_to, unique_keys_of
from airflow_idempotent.sql.statement import Statement, setting, settings

COPY_CHUNK_BYTES = 1 << 20

# What a session must not inherit from its role, database or pooler, or the same bytes would mean other rows.
_PINNED = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "timezone_abbreviations": "Default",
    "client_encoding": "UTF8",
    "jit": "off",
    "work_mem": "256MB",
    "idle_in_transaction_session_timeout": "0",
}

# A server that notices a dead client ends its query instead of finishing it for nobody (not on Windows servers).
_NOTICE_DEAD_CLIENTS = Statement(
    "SELECT set_config('client_connection_check_interval', '5s', true) WHERE version() !~ 'Visual C|mingw|windows'"
)
_NO_STATEMENT_TIMEOUT = Statement(
    "SELECT current_setting('statement_timeout'), set_config('statement_timeout', '0', true)"
)
_LOCK_TIMEOUT = Statement("SELECT current_setting('lock_timeout')")


class Readable(Protocol):
    """What a COPY can be fed from."""

    def read(self, size: int = -1, /) -> bytes: ...


class Rollback(Exception):  # noqa: N818, not an error but a way out
    """Raised inside ``Session.transaction`` to undo it on purpose; goes no further."""


class Session:
    """A DB-API connection to PostgreSQL, used by one step at a time.

    ``application_name`` shows up in pg_stat_activity, so that a waiting run can say who holds it.
    """

    def __init__(self, connection: Any, *, timeouts: Timeouts | None = None, application_name: str = "") -> None:
        self._connection = connection
        self._timeouts = timeouts or Timeouts()
        self._application_name = application_name[:63]
        connection.rollback()  # whatever the caller had begun is not ours to commit
        if hasattr(connection, "prepare_threshold"):
            connection.prepare_threshold = None  # prepared statements do not survive a transaction pooler
        if getattr(connection, "autocommit", False):
            connection.autocommit = False

    @contextmanager
    def transaction(self, *, snapshot: bool = False) -> Iterator[None]:
        """One transaction: commits at the end, rolls back on any error; nothing is left open.

        ``snapshot`` makes every statement see the same state (REPEATABLE READ).
        """
        try:
            # Never the role's default: who waited for another run must then see what that run wrote.
            level = "REPEATABLE READ" if snapshot else "READ COMMITTED"
            self.execute(Statement(f"SET TRANSACTION ISOLATION LEVEL {level}"))
            self._pin()
            yield
            self._connection.commit()
        except Rollback:
            self._connection.rollback()
        except BaseException:
            with suppress(Exception):  # a broken connection has rolled back by itself
                self._connection.rollback()
            raise

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Statements that only wait for other runs: ``lock_timeout`` bounds them, ``statement_timeout`` does not.

        Or a role whose statements may run for a second could never wait for a load of two.
        """
        [(usual, _)] = self.query(_NO_STATEMENT_TIMEOUT)
        yield
        self.query(setting("statement_timeout", usual))

    @contextmanager
    def waiting_shortly(self) -> Iterator[None]:
        """Statements that come with a ``lock_timeout`` of their own; afterwards the usual one is back."""
        [(usual,)] = self.query(_LOCK_TIMEOUT)
        yield
        self.query(setting("lock_timeout", usual))

    def _pin(self) -> None:
        seconds = {"lock_timeout": self._timeouts.lock, "statement_timeout": self._timeouts.statement}
        timeouts = {name: f"{round(value * 1000)}ms" for name, value in seconds.items() if value is not None}
        named = {"application_name": self._application_name} if self._application_name else {}
        self.query(settings(_PINNED | timeouts | named))
        self.query(_NOTICE_DEAD_CLIENTS)

    def query(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Run a statement and fetch all its rows."""
        with self._executed(statement) as cursor:
            return list(cursor.fetchall())

    def execute(self, statement: Statement) -> int:
        """Run a statement; the number of rows it touched."""
        with self._executed(statement) as cursor:
            return int(cursor.rowcount)

    @contextmanager
    def _executed(self, statement: Statement) -> Iterator[Any]:
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement.sql, dict(statement.binds) or None)
            yield cursor
        finally:
            cursor.close()

    def copy_in(self, statement: Statement, stream: Readable) -> int:
        """Stream bytes into a COPY … FROM STDIN; the number of rows it read. Memory does not grow with the file."""
        cursor = self._connection.cursor()
        try:
            if hasattr(cursor, "copy_expert"):  # psycopg2
                cursor.copy_expert(statement.sql, stream, size=COPY_CHUNK_BYTES)
            else:  # psycopg 3
                with cursor.copy(statement.sql) as copy:
                    while chunk := stream.read(COPY_CHUNK_BYTES):
                        copy.write(chunk)
            return int(cursor.rowcount)
        finally:
            cursor.close()

    def clear_leftovers(self) -> None:
        """Drop temporary tables and sequences of our names that somebody left in a pooled session; seldom any."""
        for name, kind in self.query(LEFTOVERS):
            self.execute(drop_temporary(name, kind))

    def shape(self, relation: Relation, *, views: bool = False) -> TableShape | None:
        """The table as the catalogue describes it now; None when there is none. ``views`` is for who only reads."""
        rows = self.query(columns_of(relation, views=views))
        if not rows:
            return None
        columns = tuple(Column(*facts) for *facts, _, _ in rows)
        keys = sorted((frozenset(names) for (names,) in self.query(unique_keys_of(relation))), key=sorted)
        return TableShape(relation, columns, tuple(keys), partitioned=rows[0][-2], intercepted=rows[0][-1])

    def similar(self, relation: Relation) -> tuple[str, ...]:
        """Tables whose name is near: other schema, other case."""
        return tuple(str(Relation(schema, name)) for schema, name in self.query(similar_to(relation)))

"""Scratch databases: each a copy of one that nothing is ever written to, gone when it has served."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from itertools import count
from types import ModuleType
from typing import Any
from uuid import uuid4

from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import is_driver_error, reason, refusal, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import IdempotentError, UnreachableError, UsageError
from airflow_idempotent.sql.proof import IS_THERE, TERMINATE, create_database, drop_database
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.testing.postgres import embedded_postgres

DRIVERS = ("psycopg", "psycopg2")
BY = "assert_idempotent"
QUIET = {"autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0"}
"""Databases that live for a second need no vacuum and no replica."""
OBJECT_IN_USE = "55006"
NO_RIGHT = "42501"
LONGEST_END = 10.0
"""Seconds that a session may take to end."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A server on which copies of the database ``base`` can be made. ``admin`` is connected to another one."""

    driver: ModuleType
    parameters: Mapping[str, Any]
    admin: Any
    base: str
    copy_files: bool
    numbers: Iterator[int]

    @contextmanager
    def copy(self) -> Iterator[Connect]:
        """A way to connect to a new copy, which goes with the block and with whoever is still connected."""
        name = f"{self.base}_{next(self.numbers)}"
        self.run(create_database(name, template=self.base, copy_files=self.copy_files))
        try:
            yield partial(self.connect, name)
        finally:
            self.run(drop_database(name))

    def connect(self, name: str) -> Any:
        """One connection to the database of that name."""
        return self.driver.connect(**{**self.parameters, "dbname": name})

    def run(self, statement: Statement) -> None:
        """Run a statement outside of any transaction."""
        with closing(self.admin.cursor()) as cursor:
            cursor.execute(statement.sql, dict(statement.binds) or None)

    def terminate(self, pid: int) -> None:
        """End a session, and wait until it is gone; the server's own wait takes a tenth of a second at least."""
        with closing(self.admin.cursor()) as cursor:
            cursor.execute(TERMINATE, {"pid": pid})
            until = time.monotonic() + LONGEST_END
            while time.monotonic() < until:
                cursor.execute(IS_THERE, {"pid": pid})
                if cursor.fetchone() == (0,):
                    return
                time.sleep(0.002)


@contextmanager
def scratch(connect: Connect | None = None, *, ddl: str = "", table: str = "") -> Iterator[Scratch]:
    """A server and an empty database to begin from, or a copy of the one that ``connect`` opens; ``ddl`` is run in it.

    Without ``connect`` a PostgreSQL is started at the first use, and stops with this process. The
    database of ``connect`` is read once, to copy it, and never written to.

    Raises:
        PostgresUnavailableError: there is no PostgreSQL to start.
        UsageError: the database cannot be copied, or ``ddl`` is refused.
        UnreachableError: nothing can be connected to.
    """
    driver, parameters = _reached(connect)
    template = parameters["dbname"] if connect else "template0"
    base = f"idem_proof_{os.getpid()}_{uuid4().hex[:8]}"
    with _explained(template, table), closing(driver.connect(**{**parameters, "dbname": "postgres"})) as admin:
        admin.autocommit = True
        with closing(admin.cursor()) as cursor:
            cursor.execute("SHOW fsync")
            copy_files = cursor.fetchone() == ("off",)
        found = Scratch(driver, parameters, admin, base, copy_files, count(1))
        found.run(create_database(base, template=template, copy_files=copy_files))
        try:
            if ddl:
                _prepare(found, ddl)
            _install(found)
            yield found
        finally:
            with suppress(driver.Error):
                found.run(drop_database(base))


def _prepare(found: Scratch, ddl: str) -> None:
    """Run the user's SQL in the database that all others are copies of."""
    with closing(found.connect(found.base)) as connection:
        try:
            with closing(connection.cursor()) as cursor:
                cursor.execute(ddl)
            connection.commit()
        except found.driver.Error as error:
            raise UsageError(command=BY, reason=f"the DDL is refused: {reason(error)}", hint="Correct it.") from error


def _install(found: Scratch) -> None:
    """Make the ledger once, not in each copy: whether its making may be cut off is no matter of a spec."""
    with closing(found.connect(found.base)) as connection:
        Ledger(Session(connection)).install()


def _reached(connect: Connect | None) -> tuple[ModuleType, dict[str, Any]]:
    """The driver, and with what to call it. A way to connect tells both by a connection that it opens."""
    if connect is None:
        driver = _driver()
        open_one: Connect = partial(driver.connect, _server())
    else:
        open_one = connect
    try:
        opened = open_one()
    except Exception as error:
        if not is_driver_error(error):
            raise
        raise UnreachableError(address="the database of the proof", reason=reason(error)) from error
    with closing(opened):
        raw = getattr(opened, "driver_connection", None) or opened  # SQLAlchemy wraps it
        info = raw.info
        known = dict(raw.get_dsn_parameters() if hasattr(raw, "get_dsn_parameters") else info.get_parameters())
        known |= {"dbname": info.dbname, "user": info.user, "host": info.host, "port": info.port}
        known |= {"password": info.password} if info.password else {}
        driver = import_module(type(raw).__module__.partition(".")[0])
    return driver, {name: value for name, value in known.items() if value not in ("", None)}


def _driver() -> ModuleType:
    for name in DRIVERS:
        with suppress(ImportError):
            return import_module(name)
    raise UsageError(
        command=BY, reason="neither psycopg nor psycopg2 can be imported", hint="pip install 'psycopg[binary]'"
    )


@lru_cache(maxsize=1)
def _server() -> str:
    """The DSN of a server that is started once, and stops with this process."""
    running = ExitStack()
    dsn = running.enter_context(embedded_postgres(QUIET))
    atexit.register(running.close)
    return dsn


@contextmanager
def _explained(template: str, table: str) -> Iterator[None]:
    """What the server refuses, in our words."""
    try:
        yield
    except Exception as error:
        if isinstance(error, IdempotentError) or not is_driver_error(error):
            raise
        code = sqlstate(error)
        if code == OBJECT_IN_USE:
            why = f"others are connected to the database {template!r}, and PostgreSQL cannot copy it meanwhile"
            hint = "Close your connections to it before the proof, or create the tables by ddl=."
            raise UsageError(command=BY, reason=why, hint=hint) from error
        if code == NO_RIGHT:
            why = f"the role may not copy the database {template!r}: {reason(error)}"
            hint = "Let it own the database and grant it CREATEDB, or leave connect= out and create the tables by ddl=."
            raise UsageError(command=BY, reason=why, hint=hint) from error
        raise refusal(error, table or template, "") from error

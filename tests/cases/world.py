"""What a case happens in: a database, a folder of files, and Airflow connections that lead to the database."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from airflow_idempotent.engine.refusals import sqlstate
from tests.cases.case import Case, Row
from tests.postgres_fixtures import DRIVERS

PASSWORD = "s3cret-Pw0rd"  # the server trusts everyone: any will do, and none may ever be shown
LOCKED = "55P03"
LEDGER = "airflow_idempotent"
Rows = dict[str, list[Row]]

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_serial = count(1)

_TABLES = f"""
    select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
    and n.nspname not in ('pg_catalog', 'information_schema', '{LEDGER}', 'case_copy') order by 1
"""
_OPEN = """
    select pid, state, left(query, 60) from pg_stat_activity where datname = current_database()
    and pid <> pg_backend_pid() and state <> 'idle' and not pid = any(string_to_array('{ours}', ',')::int[])
"""


@dataclass
class World:
    """One case's database and files. Whatever is put into ``at_end`` is called when the case is over."""

    case: Case
    dsn: str
    folder: Path
    at_end: list[Callable[[], Any]] = field(default_factory=list)
    sessions: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    """What one step leaves for a later one or for the notes, by name."""
    _conn_ids: dict[str, str] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    # --- the database ------------------------------------------------------------------------------

    def connect(self, **options: Any) -> Any:
        """A connection of the driver's own, in autocommit mode."""
        connection = import_module(DRIVERS[0]).connect(self.dsn, **options)
        connection.autocommit = True
        return connection

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor of the case's own connection, for one thread at a time."""
        with self._lock:
            if "own" not in self.sessions:
                self.sessions["own"] = self.connect(options="-c lock_timeout=500ms")
            with self.sessions["own"].cursor() as cursor:
                yield cursor

    def execute(self, script: str) -> None:
        """Run a script of statements."""
        with self.cursor() as cursor:
            cursor.execute(script)

    def sql(self, query: str) -> list[Row]:
        """The rows of a query, every value as PostgreSQL writes it."""
        statement, data = f"COPY ({query.strip().rstrip(';')}) TO STDOUT", io.BytesIO()
        with self.cursor() as cursor:
            if hasattr(cursor, "copy_expert"):
                cursor.copy_expert(statement, data)
            else:
                with cursor.copy(statement) as copy:
                    data.writelines(bytes(chunk) for chunk in copy)
        return [tuple(map(_value, line.split("\t"))) for line in data.getvalue().decode().split("\n")[:-1]]

    def value(self, query: str) -> str | None:
        """The one value of a query."""
        [(found,)] = self.sql(query)
        return found

    def rows(self) -> Rows:
        """All rows of all tables of the user, in a fixed order; of those that a session of the case locks, nothing."""
        names = [str(name) for (name,) in self.sql(_TABLES)]
        return {name: self._rows_of(name) for name in names}

    def _rows_of(self, name: str) -> list[Row]:
        try:
            return self.sql(f"select t.tableoid::regclass::text, t::text from {name} t order by 1, 2")
        except Exception as error:
            if sqlstate(error) != LOCKED:
                raise
            return [("locked",)]

    def open_transactions(self) -> list[Row]:
        """Sessions that still do something or hold a transaction open, but for those that the case opened."""
        ours = ",".join(str(session.info.backend_pid) for session in self.sessions.values())
        return self.sql(_OPEN.format(ours=ours))

    # --- connections -------------------------------------------------------------------------------

    def conn_id(self, word: str = "", **extra: str) -> str:
        """The id of an Airflow connection to the database; ``word`` tells one with options from the others."""
        if word not in self._conn_ids:
            name = f"case_{next(_serial)}"
            self._conn_ids[word] = name
            self.lead(name, self.dsn, **extra)
        return self._conn_ids[word]

    def lead(self, name: str, dsn: str, **extra: str) -> None:
        """Let an Airflow connection of that name lead to an address, by the environment."""
        parts = urlsplit(dsn)
        user, host = parts.username or "postgres", parts.netloc.rpartition("@")[2]
        query = "&".join(f"{key}={quote(value, safe='')}" for key, value in extra.items())
        netloc = f"{user}:{parts.password or PASSWORD}@{host}"
        uri = urlunsplit(("postgres", netloc, parts.path, query, ""))
        os.environ[f"AIRFLOW_CONN_{name.upper()}"] = uri
        self.at_end.append(lambda: os.environ.pop(f"AIRFLOW_CONN_{name.upper()}", None))

    def lead_by_default(self, name: str, role: str) -> None:
        """Let the connection of steps that ask for none be one of that role."""
        self.lead(
            name,
            urlunsplit(urlsplit(self.dsn)._replace(netloc=f"{role}@{urlsplit(self.dsn).netloc.rpartition('@')[2]}")),
        )
        self._conn_ids[""] = name

    # --- files -------------------------------------------------------------------------------------

    @property
    def lake(self) -> Path:
        """Where batches are landed unless a step says otherwise."""
        return self.folder / "lake"

    def write(self, name: str, content: bytes | str) -> Path:
        """Write a source file, in place of the one that may be there."""
        path = self.folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def deliver(self, names: Sequence[str]) -> str:
        """Put exactly these source files, as they are now, where a landing looks; the pattern that finds them."""
        inbox = Path(mkdtemp(prefix="inbox-", dir=self.folder))  # forked workers do this too
        for name in names:
            shutil.copy2(self.folder / "source" / name, inbox / Path(name).name)
        return f"{inbox}/*" if len(names) != 1 else str(inbox / Path(names[0]).name)


@contextmanager
def world_of(case: Case, dsn: str, folder: Path) -> Iterator[World]:
    """Everything set up as the case wants it, and taken down afterwards."""
    world = World(case, dsn, folder)
    for name, content in case.files.items():
        world.write(name, content)
    if case.sql:
        with closing(world.connect()) as connection:  # what it sets for the database holds for later ones
            connection.cursor().execute(case.sql)
    try:
        yield world
    finally:
        for end in reversed(world.at_end):
            end()
        for session in world.sessions.values():
            session.close()


def _value(text: str) -> str | None:
    """A field of COPY's text format."""
    if text == "\\N":
        return None
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)

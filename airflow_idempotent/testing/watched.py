"""A thin wrapper around a driver's connection that tells of everything sent to the server, before and after it.

Whoever is told may sleep, do something else in the meantime, cut the connection, or kill the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Watch = Callable[[str], None]
"""Called with ``before`` and ``after`` a statement, ``COPY`` (``chunk`` in between), ``COMMIT`` or ``ROLLBACK``."""


class Watched:
    """Looks like the connection in it to whoever uses it."""

    def __init__(self, connection: Any, watch: Watch) -> None:
        object.__setattr__(self, "_inner", (connection, watch))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner[0], name, value)

    def cursor(self) -> WatchedCursor:
        connection, watch = self._inner
        return WatchedCursor(connection.cursor(), watch)

    def commit(self) -> None:
        connection, watch = self._inner
        with _told(watch, "COMMIT"):
            connection.commit()

    def rollback(self) -> None:
        connection, watch = self._inner
        with _told(watch, "ROLLBACK"):
            connection.rollback()


class WatchedCursor:
    """Looks like the cursor in it; has ``copy_expert`` or ``copy`` only where that has."""

    def __init__(self, cursor: Any, watch: Watch) -> None:
        self._cursor, self._watch = cursor, watch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cursor, name)
        return {"copy_expert": self._copy_expert, "copy": self._copy}.get(name, found)

    def execute(self, sql: str, binds: Any = None) -> None:
        with _told(self._watch, " ".join(sql.split())):
            self._cursor.execute(sql, binds)

    def _copy_expert(self, sql: str, stream: Any, size: int) -> None:
        with _told(self._watch, "COPY"):
            self._cursor.copy_expert(sql, _Stream(stream, self._watch), size=size)

    @contextmanager
    def _copy(self, sql: str) -> Iterator[Any]:
        with _told(self._watch, "COPY"), self._cursor.copy(sql) as copy:
            yield _Copy(copy, self._watch)


class _Stream:
    """What psycopg2 reads from."""

    def __init__(self, stream: Any, watch: Watch) -> None:
        self._stream, self._watch = stream, watch

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        if data:
            self._watch("chunk")
        return data


class _Copy:
    """What is written to with psycopg 3."""

    def __init__(self, copy: Any, watch: Watch) -> None:
        self._copy, self._watch = copy, watch

    def write(self, data: bytes) -> None:
        self._copy.write(data)
        self._watch("chunk")


@contextmanager
def _told(watch: Watch, what: str) -> Iterator[None]:
    watch(f"before {what}")
    yield
    watch(f"after {what}")

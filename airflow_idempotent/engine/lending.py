"""One connection for many attempts, one after the other: a new one costs a process of the server, and its caches."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from airflow_idempotent.engine.attempts import Connect


class Lender:
    """Opens connections, and keeps one that was given back for whoever asks next.

    Attempts leave nothing in a session but what they clear themselves when they begin, so they can share it. One
    that was broken, or died meanwhile, is thrown away.
    """

    def __init__(self, connect: Connect) -> None:
        self.connect = connect
        self._kept: Any = None

    def __call__(self) -> Any:
        """A connection; ``close`` gives it back."""
        kept, self._kept = self._kept, None
        if kept is not None and _lives(kept):
            return _Lent(kept, self._take_back)
        return _Lent(self.connect(), self._take_back)

    def close(self) -> None:
        """Close the one that is kept."""
        self._take_back(None)

    def _take_back(self, connection: Any) -> None:
        before, self._kept = self._kept, connection
        with suppress(Exception):  # a broken one has nothing open, and one that is closed is gone either way
            if connection is not None:
                connection.rollback()
            if before is not None:
                before.close()


class _Lent:
    """A connection like any other, but for its end."""

    def __init__(self, connection: Any, give_back: Any) -> None:
        object.__setattr__(self, "_parts", (connection, give_back))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parts[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._parts[0], name, value)

    def close(self) -> None:
        """Give it back."""
        connection, give_back = self._parts
        give_back(connection)


def _lives(connection: Any) -> bool:
    """Whether the server still answers, and no transaction is open."""
    try:
        connection.rollback()
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        cursor.close()
        connection.rollback()
    except Exception:  # noqa: BLE001, whatever it is: a new one is opened
        with suppress(Exception):
            connection.close()
        return False
    return True

"""A transaction pooler between operators and server: pgbouncer where it is installed, else a stand-in.

The stand-in is one server connection that consecutive operators get one after the other, without
DISCARD in between: what one leaves behind, the next one finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cases.wiring import wrapping
from tests.pooling import PGBOUNCER, pgbouncer

__all__ = ["PGBOUNCER", "Shared", "pgbouncer", "standing_in"]


class Shared:
    """A server connection that outlives those who close it, as behind a pooler."""

    def __init__(self, connection: Any) -> None:
        object.__setattr__(self, "_inner", connection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def close(self) -> None:
        """What a pooler does when a client goes: roll back, and keep the connection."""
        self._inner.rollback()


@contextmanager
def standing_in(server: dict[str, Any]) -> Iterator[None]:
    """Hand operators the one connection in ``server``, which the first of them opens."""

    def shared(connection: Any) -> Any:
        if "connection" in server:
            connection.close()
        return Shared(server.setdefault("connection", connection))

    with wrapping(shared):
        yield

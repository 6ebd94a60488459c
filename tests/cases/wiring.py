"""Gets at the connections that operators open: to watch what they send, or to hand them others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from airflow_idempotent.operators.connections import Connections
from tests.faults import Watch, Watched

Wrap = Callable[[Any], Any]

_wraps: ContextVar[tuple[Wrap, ...]] = ContextVar("wraps", default=())
_opened = Connections._opened


def _wrapped(self: Connections, connection: Any) -> Any:
    for wrap in _wraps.get():
        connection = wrap(connection)
    return _opened(self, connection)


@contextmanager
def wired() -> Iterator[None]:
    """Let ``wrapping`` work as long as the block lasts."""
    Connections._opened = _wrapped  # type: ignore[method-assign]
    try:
        yield
    finally:
        Connections._opened = _opened  # type: ignore[method-assign]


@contextmanager
def wrapping(wrap: Wrap) -> Iterator[None]:
    """Pass each connection that an operator opens in this thread through ``wrap`` first."""
    token = _wraps.set((*_wraps.get(), wrap))
    try:
        yield
    finally:
        _wraps.reset(token)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Tell ``watch`` of all that an operator of this thread sends to the server."""
    with wrapping(lambda connection: Watched(connection, watch)):
        yield

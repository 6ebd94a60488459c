"""Crashes: the server ends the session in the middle of a load, and what the driver then says is real."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.testing.draw import Draw
from airflow_idempotent.testing.watched import Watched

Terminate = Callable[[int], None]
"""Ends the session of that process id, and returns when it is gone."""


def is_moment(event: str) -> bool:
    """Whether a cut there differs from one at the next event.

    What follows a statement is what precedes the next one, but for a chunk of a COPY, and for a
    COMMIT whose answer nobody gets.
    """
    return event.startswith("before ") or event in ("chunk", "after COMMIT")


@dataclass(slots=True)
class Counting:
    """Connections that count the moments of a load."""

    moments: int = 0

    def connecting(self, connect: Connect) -> Connect:
        """The same connections, counted."""
        return lambda: Watched(connect(), self._tell)

    def _tell(self, event: str) -> None:
        self.moments += is_moment(event)


@dataclass(slots=True)
class Cut:
    """Connections whose session is ended at the ``moment``-th moment, counted from 0; later ones are left alone.

    The driver finds out by itself. Only after a COMMIT, whose answer it has had, and within a COPY,
    where psycopg2 would write to standard error, it is told in its own words. ``what`` is the event
    that was cut off, empty until then.
    """

    moment: int
    terminate: Terminate
    lost: type[Exception]
    what: str = ""
    _seen: int = 0
    _pending: int = 0

    def connecting(self, connect: Connect) -> Connect:
        """The same connections, one of which will be cut."""

        def open_one() -> Any:
            connection = connect()
            pid = backend_pid(connection)
            return Watched(connection, lambda event: self._tell(event, pid))

        return open_one

    def _tell(self, event: str, pid: int) -> None:
        if self._pending:
            self.terminate(self._pending)
            self._pending = 0
        if self.what or not is_moment(event):
            return
        self._seen += 1
        if self._seen <= self.moment:
            return
        self.what = event
        if event == "chunk":
            self._pending = pid
        else:
            self.terminate(pid)
        if event in ("chunk", "after COMMIT"):
            raise self.lost("server closed the connection unexpectedly")


def backend_pid(connection: Any) -> int:
    """The process id of the server's end."""
    if hasattr(connection, "get_backend_pid"):  # psycopg2
        return int(connection.get_backend_pid())
    return int(connection.info.backend_pid)


def chosen(moments: Sequence[int], crashes: int | Literal["all"], *, seed: object = 0) -> list[list[int]]:
    """Per load the moments to cut at, when load n has ``moments[n]`` of them; at most ``crashes`` in all.

    Those around the COMMIT come first, the others as the seed has it.
    """
    draw = Draw(f"crashes {seed}")
    pairs = [(load, moment) for load, count in enumerate(moments) for moment in range(count)]
    around = [(load, moment) for load, moment in pairs if moment >= moments[load] - 2]
    others = [(load, moment) for load, moment in pairs if moment < moments[load] - 2]
    ranked = [*draw.shuffled(around), *draw.shuffled(others)]
    kept = ranked if crashes == "all" else ranked[:crashes]
    return [sorted(moment for of, moment in kept if of == load) for load in range(len(moments))]

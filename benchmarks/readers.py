"""Clients who read all the time while a table is swapped, each in its own way, and note what they see.

Every row of a version carries its number, so that an answer tells of which version it is: never of none, never of two,
and never of an older one than the answer before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

PAUSE_S = 0.002
PAGE = 100
"""Rows that a cursor fetches at once."""

Ask = Callable[[Any, int], list[int]]
"""Ask by a connection, the n-th time; the versions of the rows that came."""


class Reader(threading.Thread):
    """One client: what it asks, how long that takes by itself, and what became of it."""

    def __init__(self, connection: Any, ask: Ask, busy_s: float = 0.0) -> None:
        super().__init__(daemon=True)
        self._connection, self._ask, self._busy_s = connection, ask, busy_s
        self.answers, self.newest, self.longest_s = 0, 0, 0.0
        self.errors: list[str] = []
        self.ended = False

    def run(self) -> None:
        while not self.ended:
            began = time.perf_counter()
            try:
                self._note(self._ask(self._connection, self.answers))
            except Exception as error:  # noqa: BLE001, whatever a client sees
                self.errors.append(str(error))
                self._connection.rollback()
            self.longest_s = max(self.longest_s, time.perf_counter() - began - self._busy_s)
            self.answers += 1
            time.sleep(PAUSE_S)
        self._connection.close()

    def _note(self, seen: list[int]) -> None:
        versions = sorted(set(seen))
        if len(versions) != 1:
            self.errors.append(f"an answer of the versions {versions}")
        elif versions[0] < self.newest:
            self.errors.append(f"version {versions[0]} after version {self.newest}")
        else:
            self.newest = versions[0]


def lookups(relation: str, rows: int) -> Ask:
    """One row by its key."""
    query = f"SELECT version FROM {relation} WHERE id = %s"

    def ask(connection: Any, number: int) -> list[int]:
        return [row[0] for row in connection.execute(query, [1 + number * 7919 % rows])]

    return ask


def scans(seconds: float) -> Ask:
    """A query that takes its time."""
    query = "SELECT min(version), max(version) FROM orders, pg_sleep(%s) WHERE id <= 1000"

    def ask(connection: Any, number: int) -> list[int]:
        return list(connection.execute(query, [seconds]).fetchone())

    return ask


def cursors(pages: int, pause_s: float) -> Ask:
    """A cursor that is open for a while: rows of the last page are of the same version as those of the first."""

    def ask(connection: Any, number: int) -> list[int]:
        seen: list[int] = []
        with connection.transaction(), connection.cursor(name="pages") as cursor:
            cursor.execute("SELECT version FROM orders WHERE id <= %s", [pages * PAGE])
            while page := cursor.fetchmany(PAGE):
                seen += [row[0] for row in page]
                time.sleep(pause_s)
        return seen

    return ask


def children(rows: int) -> Ask:
    """A row of a table whose foreign key refers to the one that is swapped, written and read back with it."""
    write = "INSERT INTO lines (order_id) VALUES (%s)"
    read = "SELECT o.version FROM lines JOIN orders o ON o.id = order_id WHERE order_id = %s LIMIT 1"

    def ask(connection: Any, number: int) -> list[int]:
        order = 1 + number * 7919 % rows
        connection.execute(write, [order])
        return [row[0] for row in connection.execute(read, [order])]

    return ask

"""Sessions that read a table in each way that there is, while it is swapped to and fro."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import RollbackOrder, SwapOrder
from airflow_idempotent.engine.swap import rollback, swap
from tests.laws.world import World

ROWS = 400
ORDERS = Relation("public", "orders")
TABLES = f"""
CREATE TABLE orders (id int PRIMARY KEY, version int NOT NULL);
INSERT INTO orders SELECT id, 1 FROM generate_series(1, {ROWS}) id;
CREATE VIEW seen AS SELECT id, version FROM orders;
CREATE VIEW above AS SELECT version FROM seen WHERE id > 0;
CREATE TABLE lines (order_id int NOT NULL REFERENCES orders);
INSERT INTO lines VALUES (1)
"""


def by(query: str) -> Callable[[Any], Sequence[int]]:
    """One query."""

    def ask(cursor: Any) -> Sequence[int]:
        cursor.execute(query)
        return [row[0] for row in cursor.fetchall()]

    return ask


def by_a_cursor(cursor: Any) -> Sequence[int]:
    """A cursor that stays open for a while."""
    cursor.execute("DECLARE pages CURSOR FOR SELECT version FROM orders")
    seen: list[int] = []
    for _ in range(4):
        cursor.execute(f"FETCH {ROWS // 4} FROM pages")
        seen += [row[0] for row in cursor.fetchall()]
        time.sleep(0.005)
    return seen


def by_a_writer_of_lines(cursor: Any) -> Sequence[int]:
    """A row of the child, written and read with its parent in one transaction."""
    cursor.execute("INSERT INTO lines VALUES (2)")
    cursor.execute("SELECT version FROM lines JOIN orders ON id = order_id WHERE order_id = 2 LIMIT 1")
    return [row[0] for row in cursor.fetchall()]


def by_a_writer_who_looks_first(cursor: Any) -> Sequence[int]:
    """The same in the other order: the parent is locked before the child."""
    cursor.execute("SELECT version FROM orders WHERE id = 3")
    seen = [row[0] for row in cursor.fetchall()]
    cursor.execute("INSERT INTO lines VALUES (3)")
    return seen


WAYS = {
    "lookup": by("SELECT version FROM orders WHERE id = 7"),
    "scan": by("SELECT version FROM orders"),
    "view": by("SELECT version FROM above"),
    "join": by("SELECT version FROM orders JOIN lines ON id = order_id WHERE order_id = 1"),
    "cursor": by_a_cursor,
    "child": by_a_writer_of_lines,
    "child, parent first": by_a_writer_who_looks_first,
}


@dataclass(frozen=True)
class Answer:
    """What one transaction saw, and the time within which it looked."""

    way: str
    began: float
    ended: float
    versions: frozenset[int]


class Readers:
    """One session for each way of reading, for as long as the block lasts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.answers: list[Answer] = []
        self.errors: list[str] = []
        self.changes: list[tuple[float, float, int]] = [(0.0, 0.0, 1)]
        """When a change began and ended, and the version that was live then."""
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=item) for item in WAYS.items()]

    def __enter__(self) -> Readers:
        self.world.sql(TABLES)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.1)  # everybody sees the last version
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def swap(self) -> None:
        """Build the next version, and swap it in."""
        number = 1 + max(version for *_, version in self.changes)
        shadow = f"orders_{number}"
        self.world.sql(f"CREATE TABLE {shadow} (LIKE orders INCLUDING ALL)")
        self.world.sql(f"INSERT INTO {shadow} SELECT id, {number} FROM orders")
        order = SwapOrder(ORDERS, Relation("public", shadow), on_dependents="carry", timeouts=Timeouts(60))
        self._change(lambda: swap(order, connect=self.world.connect), number)

    def roll_back(self) -> None:
        """Make the version before the last one live again."""
        order = RollbackOrder(ORDERS, on_dependents="carry", timeouts=Timeouts(60))
        self._change(lambda: rollback(order, connect=self.world.connect), self.changes[-2][2])

    def _change(self, work: Callable[[], object], number: int) -> None:
        began = time.monotonic()
        work()
        self.changes.append((began, time.monotonic(), number))
        time.sleep(0.1)

    def _read(self, way: str, ask: Callable[[Any], Sequence[int]]) -> None:
        with closing(self.world.connect()) as connection:
            while not self._ended.is_set():
                began = time.monotonic()
                try:
                    seen = ask(connection.cursor())
                    connection.commit()
                    self.answers.append(Answer(way, began, time.monotonic(), frozenset(seen)))
                except Exception as error:  # noqa: BLE001, whatever a reader meets
                    self.errors.append(f"{way}: {error}")
                    connection.rollback()
                time.sleep(0.002)

    def versions_seen(self) -> dict[str, int]:
        """How many versions each way has seen."""
        seen: dict[str, set[frozenset[int]]] = defaultdict(set)
        for answer in self.answers:
            seen[answer.way].add(answer.versions)
        return {way: len(seen[way]) for way in WAYS}

    def wrong_answers(self) -> list[Answer]:
        """Those of no version, of several, or of one that was not live while they looked."""
        return [answer for answer in self.answers if not self._is_right(answer)]

    def _is_right(self, answer: Answer) -> bool:
        ends = [ended for _, ended, _ in self.changes[1:]] + [float("inf")]
        return any(
            answer.versions == {number} and began <= answer.ended and until >= answer.began
            for (began, _, number), until in zip(self.changes, ends, strict=True)
        )

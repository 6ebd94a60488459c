"""How long readers wait for a swap: many clients that read all the time, and one swap after another.

    python benchmarks/swap.py [--clients 50] [--swaps 50] [--rows 100000]

Each client is a session that looks up one row after the other. Told are: how long ACCESS EXCLUSIVE was held, by our own
clock from the moment the first lock was asked for to the end of the commit; the longest that a client waited for an
answer; the errors they met. Exit code 1: the median was held longer than 50 ms, a client met an error, or swaps left
an object behind.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from datetime import timedelta
from importlib import import_module
from typing import Any

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.version import Keeping, SwapOrder
from airflow_idempotent.engine.retiring import clean_up
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.testing.postgres import embedded_postgres

MOST_MS = 50.0
LIVE = Relation("public", "orders")
OBJECTS = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"


class Reader(threading.Thread):
    """One client."""

    def __init__(self, connection: Any, rows: int) -> None:
        super().__init__(daemon=True)
        self.connection, self.rows = connection, rows
        self.answers, self.longest, self.errors = 0, 0.0, []
        self.ended = False

    def run(self) -> None:
        cursor = self.connection.cursor()
        while not self.ended:
            began = time.perf_counter()
            try:
                cursor.execute("SELECT amount FROM orders WHERE id = %s", [1 + self.answers % self.rows])
                if cursor.fetchone() is None:
                    self.errors.append("no row")
            except Exception as error:  # noqa: BLE001, whatever a client sees
                self.errors.append(str(error))
            self.longest = max(self.longest, time.perf_counter() - began)
            self.answers += 1
            time.sleep(0.002)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--swaps", type=int, default=50)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    with embedded_postgres({"max_connections": "200"}, durable=True) as dsn:
        found = measured(dsn, options)
    print(json.dumps(found, indent=2))
    wrong = found["median_ms"] > MOST_MS or found["errors"] or found["objects_left"]
    return 1 if wrong else 0


def measured(dsn: str, options: argparse.Namespace) -> dict[str, Any]:
    driver = import_module("psycopg")

    def connect() -> Any:
        return driver.connect(dsn)

    own = driver.connect(dsn, autocommit=True)
    own.execute("CREATE TABLE orders (id int PRIMARY KEY, amount int)")
    own.execute("CREATE INDEX orders_by_amount ON orders (amount)")
    own.execute("INSERT INTO orders SELECT g, g FROM generate_series(1, %s) g", [options.rows])
    readers = [Reader(driver.connect(dsn, autocommit=True), options.rows) for _ in range(options.clients)]
    before = own.execute(OBJECTS).fetchone()[0]
    for reader in readers:
        reader.start()
    held = []
    for _ in range(options.swaps):
        own.execute("CREATE TABLE orders_new (LIKE orders INCLUDING ALL)")
        own.execute("INSERT INTO orders_new SELECT * FROM orders")
        held.append(swap(SwapOrder(LIVE, Relation("public", "orders_new")), connect=connect).held_ms)
        clean_up(LIVE, Keeping(timedelta(0), 0), connect=connect)
    for reader in readers:
        reader.ended = True
    for reader in readers:
        reader.join()
    return {
        "swaps": len(held),
        "clients": len(readers),
        "answers": sum(reader.answers for reader in readers),
        "median_ms": round(statistics.median(held), 1),
        "longest_ms": round(max(held), 1),
        "longest_wait_of_a_client_ms": round(1000 * max(reader.longest for reader in readers), 1),
        "errors": [error for reader in readers for error in reader.errors],
        "objects_left": own.execute(OBJECTS).fetchone()[0] - before,
    }


if __name__ == "__main__":
    sys.exit(main())

"""``make bench-swap``: how long readers wait for a swap, and what swaps leave behind.

    python benchmarks/swap.py [--only SCENARIO …] [--clients 50] [--swaps 50] [--rows 100000] [--quick]

Clients read all the time, each by a session of its own, while one swap follows the other. Told are: how long ACCESS
EXCLUSIVE was held, from the answer to the first lock that a reader notices until the commit; the longest that a client
waited beyond what its query takes; the errors and wrong answers they met; the names that were there afterwards and not
before. Exit code 1: a median was longer than 50 ms, a client met an error, or something was left behind.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import Any

import psycopg
import report
from readers import Reader
from report import Goal
from rich.box import SIMPLE_HEAD
from rich.table import Table
from swap_scenarios import SCENARIOS, Scenario
from warehouse import Warehouse

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import Keeping, SwapOrder
from airflow_idempotent.engine.retiring import clean_up
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.testing.postgres import embedded_postgres
from airflow_idempotent.testing.watched import Watched

MOST_MS = 50.0
MOST_GROWTH = 2.0
"""How many times as long as the first hundred swaps the last hundred may take."""
HUNDRED = 100
NOTHING_KEPT = Keeping(timedelta(0), 0)
NAMES = """
SELECT 'relation ' || relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT 'constraint ' || conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'statistics ' || stxname FROM pg_statistic_ext WHERE stxnamespace = 'public'::regnamespace
UNION ALL SELECT 'type ' || typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
UNION ALL SELECT 'numbers of ' || c FROM (
    SELECT 'triggers ' || count(*) FROM pg_trigger
    UNION ALL SELECT 'rules ' || count(*) FROM pg_rewrite
    UNION ALL SELECT 'relations ' || count(*) FROM pg_class
    UNION ALL SELECT 'defaults ' || count(*) FROM pg_attrdef) AS counted (c)
"""


@dataclass
class Found:
    """What a scenario came to."""

    held_ms: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tries: int = 0
    answers: int = 0
    longest_wait_ms: float = 0.0
    errors: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    clients: int = 0

    def as_run(self, name: str) -> dict[str, Any]:
        facts = {"target": name, "contender": "swap", "phase": f"{self.clients} clients"}
        return facts | {
            **vars(self),
            "held_ms": [round(each, 2) for each in self.held_ms],
            "seconds": [round(each, 3) for each in self.seconds],
            "longest_wait_ms": round(self.longest_wait_ms, 1),
        }


class Stopwatch:
    """When a lock that clients notice was had, and when the transaction that had it was over; nobody reads a shadow."""

    def __init__(self, scenario: Scenario) -> None:
        self._unnoticed = f'"{scenario.shadow}" IN ACCESS EXCLUSIVE'
        self.since, self.held_ms, self.tries = 0.0, 0.0, 0

    def __call__(self, event: str) -> None:
        if event.startswith("after SAVEPOINT"):
            self.since, self.tries = 0.0, self.tries + 1
        elif self.since and event == "after COMMIT":
            self.held_ms, self.since = 1000 * (time.perf_counter() - self.since), 0.0
        elif not self.since and event.startswith("after ") and self._is_noticed(event):
            self.since = time.perf_counter()

    def _is_noticed(self, event: str) -> bool:
        return self._unnoticed not in event and ("ACCESS EXCLUSIVE" in event or "REPLACE VIEW" in event)


def main() -> int:
    options = parse()
    load_before = report.load_average()
    chosen = [scenario for scenario in SCENARIOS if not options.only or scenario.name in options.only]
    found: dict[str, Found] = {}
    with embedded_postgres({"max_connections": "200"}, durable=True) as server:
        warehouse = Warehouse(server)
        for scenario in chosen:
            found[scenario.name] = measured(warehouse, scenario, options)
            report.say(f"  {scenario.name}: {median(found[scenario.name].held_ms):.1f} ms")
        facts = report.facts(warehouse, load_before, target_rows=(options.rows,))
    report.console.print(table(found))
    for name, each in found.items():
        for line in dict.fromkeys([*each.errors, *each.left]):
            report.fail(f"{name}: {line}")
    document = {"facts": facts, "rounds": options.swaps, "runs": [each.as_run(name) for name, each in found.items()]}
    return report.conclude("swap", goals(found), document, full=not options.quick)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[scenario.name for scenario in SCENARIOS], metavar="SCENARIO")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--swaps", type=int, help="of each scenario, default 50, and 1,000 of the one without clients")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="three swaps of each: does it still work?")
    options = parser.parse_args()
    if options.quick:
        options.swaps, options.rows = 3, options.rows // 10
    return options


def measured(warehouse: Warehouse, scenario: Scenario, options: argparse.Namespace) -> Found:
    """One scenario, in a database of its own."""
    warehouse.create(scenario.name)
    dsn = warehouse.dsn(scenario.name)
    clients, rows = (0, HUNDRED) if scenario.alone else (options.clients, options.rows)
    found = Found(clients=clients)
    with closing(psycopg.connect(dsn, autocommit=True)) as own:
        own.execute(scenario.create)
        own.execute(f"INSERT INTO {scenario.table} (id, version) SELECT g, 1 FROM generate_series(1, %s) g", [rows])
        _swapped(own, dsn, scenario, Found())  # makes the ledger
        before = _names(own)
        reading = [
            Reader(psycopg.connect(dsn, autocommit=True), scenario.ask(rows), scenario.busy_s) for _ in range(clients)
        ]
        for reader in reading:
            reader.start()
        for _ in range(options.swaps or scenario.alone or 50):
            _swapped(own, dsn, scenario, found)
        for reader in reading:
            reader.ended = True
        for reader in reading:
            reader.join()
        found.left = [f"left behind: {name}" for name in _names(own) if name not in before]
    found.answers = sum(reader.answers for reader in reading)
    found.errors = [error for reader in reading for error in reader.errors]
    found.longest_wait_ms = 1000 * max((reader.longest_s for reader in reading), default=0.0)
    return found


def _swapped(own: Any, dsn: str, scenario: Scenario, found: Found) -> None:
    """Build the next version, swap it in, drop the one before."""
    live, shadow = Relation("public", scenario.table), Relation("public", scenario.shadow)
    own.execute(scenario.build)
    own.execute(f"INSERT INTO {shadow} (id, version) SELECT id, version + 1 FROM {live}")
    order = SwapOrder(live, shadow, on_dependents=scenario.dependents, allow_changes=True, timeouts=Timeouts(60))
    watch, began = Stopwatch(scenario), time.perf_counter()
    swap(order, connect=lambda: Watched(psycopg.connect(dsn), watch))
    clean_up(live, NOTHING_KEPT, connect=lambda: psycopg.connect(dsn))
    found.seconds.append(time.perf_counter() - began)
    found.held_ms.append(watch.held_ms)
    found.tries += watch.tries


def _names(own: Any) -> list[str]:
    return sorted(row[0] for row in own.execute(NAMES))


def table(found: dict[str, Found]) -> Table:
    shown = Table(title="Swaps", title_justify="left", box=SIMPLE_HEAD)
    about = {scenario.name: scenario.about for scenario in SCENARIOS}
    shown.add_column("")
    shown.add_column("clients read")
    for name in ("clients", "answers", "swaps", "tries", "held ms", "longest", "a client waited ms"):
        shown.add_column(name, justify="right")
    for name, each in found.items():
        held = f"{median(each.held_ms):.1f}", f"{max(each.held_ms):.1f}"
        counted = f"{each.clients}", f"{each.answers:,}", f"{len(each.held_ms):,}", f"{each.tries:,}"
        shown.add_row(name, about[name], *counted, *held, f"{each.longest_wait_ms:.0f}")
    return shown


def goals(found: dict[str, Found]) -> list[Goal]:
    stands: list[Goal] = []
    for name, each in found.items():
        stands.append((f"{name}: ACCESS EXCLUSIVE held, median ms", median(each.held_ms), MOST_MS))
        stands.append((f"{name}: errors and wrong answers", len(each.errors), 0))
        stands.append((f"{name}: left behind", len(each.left), 0))
        if len(each.seconds) >= 2 * HUNDRED:
            growth = median(each.seconds[-HUNDRED:]) / median(each.seconds[:HUNDRED])
            stands.append((f"{name}: the last hundred swaps ÷ the first", growth, MOST_GROWTH))
    return stands


if __name__ == "__main__":
    sys.exit(main())

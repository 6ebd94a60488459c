"""``make bench-checks``: twenty checks of a partition, by ours and by the one query that an expert would write.

    python benchmarks/checks.py [--rounds 5] [--rows 5000000] [--quick]

The partition is a child of a partitioned table; two of the checks are of keys that no index keeps unique. Both ask one
after the other by one psycopg connection each, A B A B. Exit code 1: ours takes too long, or a check found something.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import report
from report import Goal
from rich.box import SIMPLE_HEAD
from rich.table import Table
from warehouse import Warehouse

from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.engine.facts import gather
from airflow_idempotent.engine.gate import evaluate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.checks import target_place
from airflow_idempotent.testing.postgres import embedded_postgres

DATABASE = "checks"
DAY = "2025-05-01"
MOST = 1.3
"""How many times what the query takes."""
LIMIT = Path(__file__).parent / "limits" / "checks.sql"
SETTINGS = {
    "autovacuum": "off",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "max_parallel_workers_per_gather": "0",  # or whoever came when a core was idle would have won
}

TABLE = """
CREATE TABLE orders (order_id bigint, customer_id int, status text, amount numeric(12,2), rate float8, note text,
    updated_at timestamptz, order_date date, PRIMARY KEY (order_date, order_id)) PARTITION BY RANGE (order_date);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2025-05-01') TO ('2025-05-02');
CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM ('2025-05-02') TO ('2025-05-03');
"""
FILL = """
INSERT INTO orders
SELECT n, hashint8(n) & 1048575, (ARRAY['open', 'paid', 'sent', 'lost'])[1 + n %% 4], (n %% 1000000) / 10.0,
       (n %% 1000) / 1000.0, 'order ' || n, timestamptz '2025-05-01 00:00Z' + n * interval '17 ms', '2025-05-01'
FROM generate_series(1, %(rows)s) n
"""
OTHER = (
    "INSERT INTO orders SELECT order_id, 1, 'bad', -1, 2, 'x', NULL, '2025-05-02' FROM orders WHERE order_id <= 1000"
)

CHECKS: list[Any] = [
    {"row_count": {"min": 1}},
    {"unique": ["order_date", "order_id"]},
    {"unique": ["note"]},
    {"unique": ["customer_id", "updated_at"]},
    *({"not_null": name} for name in ("order_id", "customer_id", "status", "amount", "updated_at")),
    *({"null_rate": {"columns": name, "max": 0.01}} for name in ("note", "rate")),
    {"accepted_values": {"column": "status", "values": ["open", "paid", "sent", "lost"]}},
    {"range": {"columns": "amount", "min": 0, "max": 100000}},
    {"range": {"columns": "rate", "min": 0, "max": 1}},
    {"range": {"columns": "customer_id", "min": 0}},
    {"not_null": {"columns": "amount", "where": "status = 'paid'"}},
    {"max": {"column": "amount", "leq_to": 100000}},
    {"sum": {"column": "amount", "greater_than": 0}},
    {"avg": {"column": "rate", "leq_to": 1}},
    {"freshness": {"column": "updated_at", "max_age": "1d"}},
]
SPEC = LoadSpec(
    table="orders", unique_key=["order_date", "order_id"], partition_by={"column": "order_date"}, checks=CHECKS
)


def main() -> int:
    options = parse()
    load_before = report.load_average()
    seconds: dict[str, list[float]] = {"limit": [], "ours": []}
    cpu: dict[str, list[float]] = {"limit": [], "ours": []}
    with embedded_postgres(SETTINGS) as server:
        warehouse = Warehouse(server)
        fill(warehouse, options.rows)
        with (
            closing(psycopg.connect(warehouse.dsn(DATABASE))) as theirs,
            closing(psycopg.connect(warehouse.dsn(DATABASE))) as mine,
        ):
            connections = {"limit": theirs, "ours": mine}
            contenders: dict[str, Callable[[], list[str]]] = {
                "limit": lambda: by_hand(theirs),
                "ours": lambda: by_us(Session(mine)),
            }
            for contender in contenders.values():
                contender()  # both find the table in the cache
            for number in range(options.rounds):
                for name, ask in contenders.items():
                    began, before = time.perf_counter(), cpu_of(connections[name])
                    broken = ask()
                    seconds[name].append(time.perf_counter() - began)
                    cpu[name].append(cpu_of(connections[name]) - before)
                    if broken:
                        report.fail(f"{name}: {'; '.join(broken)}")
                        return 1
                last = ", ".join(f"{name} {values[-1]:.2f} s" for name, values in seconds.items())
                report.say(f"  round {number + 1} of {options.rounds}: {last}")
        facts = report.facts(warehouse, load_before, target_rows=(options.rows,), batch_rows=options.rows)
    report.console.print(table(seconds, cpu))
    document = {"facts": facts, "rounds": options.rounds, "seconds": seconds, "cpu_seconds": cpu}
    return report.conclude("checks", goals(seconds, cpu), document, full=not options.quick)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured; the median counts")
    parser.add_argument("--rows", type=int, default=5_000_000, help="of the partition")
    parser.add_argument("--quick", action="store_true", help="a tenth of it, once: does it still work?")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.rows = 1, options.rows // 10
    return options


def fill(warehouse: Warehouse, rows: int) -> None:
    """The partition to look at, and one beside it in which everything is wrong."""
    warehouse.create(DATABASE)
    with psycopg.connect(warehouse.dsn(DATABASE), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS orders")
        connection.execute(TABLE)
        connection.execute(FILL, {"rows": rows})
        connection.execute(OTHER)
        connection.execute("VACUUM ANALYZE orders")


def cpu_of(connection: Any) -> float:
    """Processor seconds of the session: what the neighbours of a shared machine disturb less."""
    user, system = Path(f"/proc/{connection.info.backend_pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def by_hand(connection: Any) -> list[str]:
    """The expert's query; what it finds wrong."""
    cursor = connection.execute(LIMIT.read_text())
    while cursor.nextset():
        pass
    names = [column.name for column in cursor.description]
    found = dict(zip(names, cursor.fetchone(), strict=True))
    connection.rollback()
    counted = [name for name in names if name.startswith("no_") or name.endswith(("_outside", "_repeated", "_nothing"))]
    return [f"{name} {found[name]}" for name in counted if found[name]]


def by_us(session: Session) -> list[str]:
    """The checks of the spec; those that do not pass."""
    partition = SPEC.partition(DAY)
    manifest = Manifest(SPEC.table, DAY, "", "", "", CsvFormat(), ())
    with session.transaction(snapshot=True):
        shape = session.shape(SPEC.relation)
        assert shape
        where = {"shape": shape, "partition": partition, "manifest": manifest, "published": True, "landed_rows": None}
        facts = gather(session, SPEC.checks, **where)
        results = evaluate(session, SPEC.checks, target_place(shape, "order_date", partition), facts)
    return [str(result) for result in results if result.verdict != "passed"]


def table(seconds: dict[str, list[float]], cpu: dict[str, list[float]]) -> Table:
    found = Table(title="Twenty checks of a partition, seconds", title_justify="left", box=SIMPLE_HEAD)
    for name in ("by", "median", "fastest", "CPU"):
        found.add_column(name, justify="left" if name == "by" else "right")
    for name, values in seconds.items():
        found.add_row(name, f"{median(values):.2f}", f"{min(values):.2f}", f"{median(cpu[name]):.2f}")
    return found


def goals(seconds: dict[str, list[float]], cpu: dict[str, list[float]]) -> list[Goal]:
    measured = {"twenty checks ÷ one query by hand": seconds, "the same, CPU of the session": cpu}
    return [(what, median(values["ours"]) / median(values["limit"]), MOST) for what, values in measured.items()]


if __name__ == "__main__":
    sys.exit(main())

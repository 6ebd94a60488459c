"""``make bench-status``: how long the fleet's ``status`` takes on a ledger of 200 tables of 3,650 partitions.

    python benchmarks/status.py [--tables 200] [--partitions 3650] [--rounds 5] [--quick]

Goal: the median of five runs of the whole command, with the start of Python, is at most 2 s. Each partition has been
loaded and validated; one table in ten misses a partition, one in ten has one that failed. The command for a single
table and ``watermark show`` are measured beside it, without a goal. Exit code 1: it takes longer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from contextlib import closing
from statistics import median

import psycopg
import report
from report import Goal
from rich.box import SIMPLE_HEAD
from rich.table import Table
from warehouse import Warehouse

from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.testing.postgres import embedded_postgres

DATABASE = "fleet"
MOST_S = 2.0
SETTINGS = {"shared_buffers": "1GB", "max_wal_size": "4GB", "synchronous_commit": "off"}

# Two events per partition, as a load and its validation write them; hashes only have to differ.
EVENTS = """
INSERT INTO airflow_idempotent.events
    (table_name, partition_key, partition_start, partition_end, batch_id, step, state, spec_fingerprint,
     content_fingerprint, staged_rows, inserted, row_count, digest, max_version, consecutive_since, lane, attempt,
     seconds, previous_hash, hash)
SELECT 'fleet.t' || %(number)s, to_char(days.day, 'YYYY-MM-DD'), days.day, days.day + interval '1 day',
       to_char(days.day, 'YYYYMMDD') || '_01', step,
       CASE WHEN step = 'validate' THEN 'validated' WHEN failed THEN 'failed' ELSE 'published' END,
       md5('spec'), md5(days.day::text), CASE step WHEN 'stage_merge' THEN 1000 ELSE 0 END,
       CASE step WHEN 'stage_merge' THEN 1000 ELSE 0 END, 1000, md5(days.day::text), days.day::text, '2015-01-01',
       'scheduled', 'fleet/scheduled__' || days.day || '/' || step || '#1', 0.5,
       CASE step WHEN 'validate' THEN md5(days.day::text) ELSE '' END,
       md5(days.day::text || step)
FROM (SELECT timestamptz '2015-01-01 00:00Z' + n * interval '1 day' AS day, n,
             %(number)s %% 10 = 1 AND n = %(partitions)s / 2 AS failed
      FROM generate_series(0, %(partitions)s - 1) AS n) AS days,
     unnest(ARRAY['stage_merge', 'validate']) AS step
WHERE NOT (%(number)s %% 10 = 0 AND n = %(partitions)s / 2) AND NOT (failed AND step = 'validate')
ORDER BY days.day, step
"""


def main() -> int:
    options = parse()
    load_before = report.load_average()
    with embedded_postgres(SETTINGS) as server:
        warehouse = Warehouse(server)
        fill(warehouse, options.tables, options.partitions)
        dsn = warehouse.dsn(DATABASE)
        commands = {
            "status": ["status"],
            "status of one table": ["status", "fleet.t2"],
            "watermark show": ["watermark", "show"],
        }
        seconds = {name: [timed(words, dsn) for _ in range(options.rounds)] for name, words in commands.items()}
        facts = report.facts(warehouse, load_before, tables=options.tables, partitions=options.partitions)
    shown = Table(box=SIMPLE_HEAD)
    for name in ("command", "median s", "least s", "most s"):
        shown.add_column(name, justify="left" if name == "command" else "right")
    for name, found in seconds.items():
        shown.add_row(name, *(f"{value:.2f}" for value in (median(found), min(found), max(found))))
    report.console.print(shown)
    goals: list[Goal] = [("status of the fleet, seconds", median(seconds["status"]), MOST_S)]
    runs = [{"command": name, "seconds": found} for name, found in seconds.items()]
    return report.conclude("status", goals, {"facts": facts, "runs": runs}, full=not options.quick)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--partitions", type=int, default=3650, help="of each table")
    parser.add_argument("--rounds", type=int, default=5, help="how often each command is run; the median counts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the tables, once: does it still work?")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.tables = 1, options.tables // 10
    return options


def fill(warehouse: Warehouse, tables: int, partitions: int) -> None:
    """The ledger, its events written table by table as the engine's own statements find them."""
    warehouse.create(DATABASE)
    with closing(psycopg.connect(warehouse.dsn(DATABASE))) as connection:
        Ledger(Session(connection)).install()
        connection.autocommit = True
        for number in range(1, tables + 1):
            connection.execute(EVENTS, {"number": number, "partitions": partitions})
        connection.execute("VACUUM ANALYZE")
    report.say(f"  a ledger of {tables} tables of {partitions:,} partitions")


def timed(words: list[str], dsn: str) -> float:
    """Seconds of a command from its start to its end."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "airflow_idempotent", *words, "--dsn", dsn], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())

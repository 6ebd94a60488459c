"""What a spec costs when Airflow parses its DAG file, beyond a bare DAG of the same shape written by hand.

    python benchmarks/parse.py [--specs 1000] [--rounds 3] [--profile]

Both are built in this process, turn by turn. Airflow is imported before, and paid for by neither.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import pstats
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import DAG, BaseOperator, Param, task_group
from airflow.timetables.interval import CronDataIntervalTimetable

from airflow_idempotent import load_tables

GOAL_MS = 2.0
PARSING_FOR = "_AIRFLOW_PARSING_CONTEXT_DAG_ID"  # how Airflow tells a parsed file which DAG is wanted

SPEC = """\
table: analytics.orders_{number:04d}
description: Orders of shop {number}.
conn_id: warehouse
schedule: "@daily"
start_date: 2025-01-01
timezone: Europe/Berlin
owner: data-eng
tags: [orders, shop-{number}]
source: {{kind: files, path: "s3://inbox/orders/{number}/{{{{ partition.key }}}}/*.csv"}}
landing: {{root: "s3://lake/raw"}}
columns:
  - {{name: order_id, data_type: bigint, constraints: [not_null]}}
  - {{name: customer_id, data_type: bigint}}
  - {{name: amount, data_type: "numeric(12,2)"}}
  - {{name: order_date, data_type: date}}
  - {{name: updated_at, data_type: timestamptz}}
unique_key: [order_id]
version: [updated_at]
partition_by: {{column: order_date, grain: day}}
strategy: merge
checks:
  - unique: [order_id]
  - not_null: [order_date]
  - row_count: {{min: 1, severity: warn}}
"""


TEXT = {"type": ["null", "string"]}
WHICH = ["all", "missing", "failed", "stale", "changed"]


class Bare(BaseOperator):
    """An operator that takes one argument."""

    template_fields = ("planned", "batch")

    def __init__(self, *, planned: Any = None, batch: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.planned = planned
        self.batch = batch


def bare_dag(number: int) -> DAG:
    """The DAG that somebody would write by hand: same tasks, same params, no spec."""
    params = {
        "from_date": Param(None, **TEXT, format="date", title="From", description_md="Begin of the range."),
        "to_date": Param(None, **TEXT, format="date", title="To", description_md="End of the range, not included."),
        "reprocess_behavior": Param(
            "all",
            type="string",
            enum=WHICH,
            title="Which",
            values_display=dict(zip(WHICH, WHICH, strict=True)),
            description_md="Which partitions of the range.",
        ),
        "cutoff_ts": Param(None, **TEXT, format="date-time", title="Cutoff", description_md="Ignore input after this."),
        "dry_run": Param(False, type="boolean", title="Dry run", description_md="Roll back."),
        "force": Param(False, type="boolean", title="Force", description_md="Load again."),
        "reason": Param(None, **TEXT, title="Reason", description_md="Why this run."),
    }
    with DAG(
        dag_id=f"bare_{number:04d}",
        schedule=CronDataIntervalTimetable("0 0 * * *", timezone="Europe/Berlin"),
        start_date=datetime(2025, 1, 1, tzinfo=UTC),
        catchup=True,
        max_active_runs=1,
        tags=["orders", f"shop-{number}"],
        params=params,
        default_args={"owner": "data-eng", "retries": 3, "retry_delay": timedelta(minutes=1)},
        auto_register=False,
    ) as dag:
        plan = Bare(task_id="plan")

        @task_group(group_id="partition")
        def partition(planned: Any) -> None:
            land = Bare(task_id="land", planned=planned)
            load = Bare(task_id="stage_merge", planned=planned, batch=land.output, max_active_tis_per_dag=4)
            check = Bare(task_id="validate", planned=planned, batch=land.output)
            land >> load >> check

        partition.expand(planned=plan.output)
    return dag


def seconds(work: Any) -> float:
    """CPU seconds of one call."""
    gc.collect()
    before = time.process_time()
    work()
    return time.process_time() - before


def written(folder: Path, count: int) -> None:
    """Write that many specs."""
    folder.mkdir()
    for number in range(count):
        (folder / f"orders_{number:04d}.yaml").write_text(SPEC.format(number=number))


def load(folder: Path, expected: int) -> None:
    """Parse the folder as its DAG file does."""
    namespace: dict[str, Any] = {"__file__": str(folder.parent / "dag.py")}
    load_tables(folder.name, namespace)
    assert len(namespace) == expected + 1, "a spec is broken"


def profiled(folder: Path, count: int) -> None:
    """Print where the time of one round goes."""
    with cProfile.Profile() as profile:
        load(folder, count)
    pstats.Stats(profile).sort_stats("cumulative").print_stats(60)


def measured(folder: Path, count: int, rounds: int) -> dict[str, float]:
    """Milliseconds a DAG, by hand and ours, turn by turn; and of a worker that wants one DAG of the folder."""
    load(folder, count)  # imports and caches are warm from here on
    found = []
    for _ in range(rounds):
        by_hand = seconds(lambda: [bare_dag(number) for number in range(count)])
        ours = seconds(lambda: load(folder, count))
        os.environ[PARSING_FOR] = f"analytics.orders_{count // 2:04d}"
        worker = seconds(lambda: load(folder, 1))
        del os.environ[PARSING_FOR]
        found.append((by_hand * 1000 / count, ours * 1000 / count, worker * 1000))
    bare, full, one = (statistics.median(column) for column in zip(*found, strict=True))
    return {"specs": count, "bare_ms": bare, "ours_ms": full, "beyond_ms": full - bare, "worker_ms": one}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--specs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="print where the time of one round goes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tables"
        written(folder, options.specs)
        if options.profile:
            profiled(folder, options.specs)
            return 0
        report = measured(folder, options.specs, options.rounds)
    if options.json:
        print(json.dumps(report | {"goal_ms": GOAL_MS}))
    else:
        print("{specs} specs, each: bare DAG {bare_ms:.2f} ms, ours {ours_ms:.2f} ms,".format(**report))
        print("  beyond it {beyond_ms:.2f} ms (goal {goal:.1f})".format(goal=GOAL_MS, **report))
        print("  a worker that wants one DAG of them: {worker_ms:.0f} ms".format(**report))
    return 0 if report["beyond_ms"] <= GOAL_MS else 1


if __name__ == "__main__":
    sys.exit(main())

"""``make bench-growth``: the same kind of batch into a table ten times as big, by ours and by the hand-tuned script.

    python benchmarks/growth.py [--rounds 3] [--quick]

The batch has 500,000 rows either way, its keys spread over the whole table. A bigger table costs more because
updates touch more pages; ours must not grow faster than the script. Both work on a table as anybody creates it.
Exit code 1: it does, or a result is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import comparison
import report
from contenders import ContenderError
from measure import Bench
from options import quickened, sized
from report import Goal
from rich.table import Table
from turns import Figures
from warehouse import Warehouse
from workload import Workload

from airflow_idempotent.testing.postgres import embedded_postgres, postgres_bin

ROOT = Path(__file__).parent.parent / ".bench"
SETTINGS = {"autovacuum": "off", "max_wal_size": "4GB"}
"""A checkpoint in the middle of one turn and not of the other would be luck, as a vacuum would."""
TARGET = "default"
TIMES = 10
MOST = 1.05
"""How much faster than the script's ours may grow: what two runs of the same differ by."""
MEASURES = {"wall": "seconds", "CPU of the session": "server_cpu"}


def main() -> int:
    options = parse()
    load_before = report.load_average()
    sizes = (options.target_rows, options.target_rows * TIMES)
    found = {size: Figures() for size in sizes}
    with embedded_postgres(SETTINGS, durable=True) as server:
        try:
            for size, figures in found.items():
                measure(Warehouse(server), figures, size, options)
        except ContenderError as error:
            report.fail(str(error))
            return 1
        facts = report.facts(Warehouse(server), load_before, target_rows=sizes, batch_rows=options.batch_rows)
    report.console.print(table(found))
    runs = [{"target_rows": size, **run} for size, figures in found.items() for run in report.as_json(figures)]
    document = {"facts": facts, "rounds": options.rounds, "runs": runs}
    stands = [] if options.quick else goals(found)
    return report.conclude("growth", stands, document, full=not options.quick)


def measure(warehouse: Warehouse, figures: Figures, size: int, options: argparse.Namespace) -> None:
    """A B A B on a table of that size."""
    work = Workload(ROOT / f"growth-{size}-{options.batch_rows}", size, options.batch_rows)
    report.say(f"{options.batch_rows:,} rows into {size:,}, in {work.folder}")
    work.make()
    psql = postgres_bin() / "psql"
    bench = Bench(warehouse, figures, psql=psql, work=work, folder=ROOT / "growth", targets=(TARGET,))
    bench.prepare()
    for number in range(options.rounds):
        bench.limit(TARGET, checked=number == 0)
        bench.ours(TARGET, checked=number == 0)
        report.say(f"  round {number + 1} of {options.rounds}: {figures.last(TARGET)}")
    shutil.rmtree(bench.folder)


def growth(found: Mapping[int, Figures], measure: str, contender: str) -> float:
    """How many times what the small table takes."""
    small, big = (
        statistics.median(getattr(figures, measure)[TARGET, contender, "first"]) for figures in found.values()
    )
    return float(big / small) if small else 0.0


def goals(found: Mapping[int, Figures]) -> list[Goal]:
    stands = []
    for name, measure in MEASURES.items():
        ours, limit = (growth(found, measure, contender) for contender in ("ours", "limit"))
        if limit:
            stands.append((f"growth of ours ÷ of the limit, {name}", ours / limit, MOST))
    return stands


def table(found: Mapping[int, Figures]) -> Table:
    shown = comparison.blank("First load, medians", (*(f"{size:,} rows" for size in found), "growth"))
    for name, measure in MEASURES.items():
        for contender in ("limit", "ours"):
            turns: list[Any] = [getattr(figures, measure)[TARGET, contender, "first"] for figures in found.values()]
            medians = [f"{statistics.median(each):.2f} s" for each in turns]
            shown.add_row(f"{name}, {contender}", *medians, f"{growth(found, measure, contender):.2f}")
    return shown


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sized(parser)
    return quickened(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

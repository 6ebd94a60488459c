"""``make bench``: our ``run`` against hand-tuned SQL in psql, turn by turn, on one cluster.

    python benchmarks/run.py [--rounds 3] [--quick] [--skip-memory]

Both load the same day of 500,000 rows into the same 2,000,000, on a table created as anybody would and on
one that our product created. Files are kept in .bench/, the figures go to benchmarks/results/.
Exit code 1: a goal was missed, or a result is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import memory
import report
from contenders import ContenderError
from measure import TARGETS, Bench
from options import quickened, sized
from turns import Figures
from warehouse import Warehouse
from workload import Workload

from airflow_idempotent.testing.postgres import embedded_postgres, postgres_bin

ROOT = Path(__file__).parent.parent / ".bench"
MEMORY_MB = (100, 1000)
SETTINGS = {"autovacuum": "off"}
"""Everything else as it comes; a vacuum in the middle of a turn would be luck."""


def main() -> int:
    options = parse()
    work = Workload(ROOT / f"workload-{options.batch_rows}", options.target_rows, options.batch_rows)
    report.say(f"data: {options.batch_rows:,} rows into {options.target_rows:,}, in {work.folder}")
    work.make()
    figures = Figures()
    load_before = report.load_average()
    with embedded_postgres(SETTINGS, durable=True) as server:
        warehouse = Warehouse(server)
        bench = Bench(warehouse, figures, psql=postgres_bin() / "psql", work=work, folder=ROOT)
        try:
            measure_all(bench, options.rounds)
            peaks = {} if options.skip_memory else memory.peaks(warehouse, ROOT / "memory", options.memory_mb)
        except ContenderError as error:
            report.fail(str(error))
            return 1
        facts = report.facts(warehouse, load_before, **work.facts())
    for name in TARGETS:
        shutil.rmtree(ROOT / name, ignore_errors=True)
    return report.publish(figures, peaks, facts, rounds=options.rounds, full=not options.quick)


def measure_all(bench: Bench, rounds: int) -> None:
    """A B A B, on both targets."""
    report.say(f"databases: {', '.join(TARGETS)}")
    bench.prepare()
    for number in range(rounds):
        for target in TARGETS:
            bench.limit(target, checked=number == 0)
            bench.ours(target, checked=number == 0)
            report.say(f"round {number + 1} of {rounds}, {target} target: {bench.figures.last(target)}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skip-memory", action="store_true", help="leave out the two big files")
    sized(parser)
    options = quickened(parser.parse_args())
    options.memory_mb = (10, 100) if options.quick else MEMORY_MB
    return options


if __name__ == "__main__":
    sys.exit(main())

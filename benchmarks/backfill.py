"""``make bench-backfill``: 30 days delivered again, by ours and by the hand-tuned script, one and two at a time.

    python benchmarks/backfill.py [--rounds 3] [--partitions 30] [--quick]

Each day has 50,000 rows and goes into a table of 2,000,000 that our product created. The script is a psql for each
day; ours is one ``run`` with all the days, or two of them with half the days each.
Exit code 1: ours takes more than 1.15 times as long, or a result is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import comparison
import contenders
import deliveries
import expected
import report
import rows
from contenders import ContenderError, Run, cpu_of_children, deliver
from measure import EXPECTED, SEEDED
from options import quickened, sized
from turns import Figures, Turns
from warehouse import Warehouse
from workload import COLUMNS, target_rows

from airflow_idempotent.testing.postgres import embedded_postgres, postgres_bin

ROOT = Path(__file__).parent.parent / ".bench" / "backfill"
SETTINGS = {"autovacuum": "off"}
TEMPLATE = "filled"
AT_ONCE = {"one at a time": 1, "two at a time": 2}
MOST = 1.15
NEWEST = "select unnest(r) from (select arg_max(e, updated_at) as r from ({}) e group by order_id)"


@dataclass
class Backfill(Turns):
    """The days, the table they go into, and who takes turns on it."""

    psql: Path = field(kw_only=True)
    folder: Path = field(kw_only=True)
    days: dict[str, Path] = field(default_factory=dict)

    def make(self, target: int, count: int, number: int) -> None:
        """Write the files, and what they must end in."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        before, after = self.folder / "target.csv", self.folder / "expected.csv"
        rows.write(before, rows.slices(target_rows(target)))
        for key, delivered in deliveries.days(target, count, number):
            self.days[key] = self.folder / f"{key}.csv"
            rows.write(self.days[key], rows.slices(delivered))
        files = {"target": before} | {f"d{place}": file for place, file in enumerate(self.days.values())}
        query = NEWEST.format(" union all ".join(f"from {name}" for name in files))
        expected.rows_after(query, files, dict.fromkeys(files, COLUMNS), list(COLUMNS), after)

    def prepare(self) -> None:
        """A table that our product created and filled."""
        for database in (EXPECTED, TEMPLATE):
            self.warehouse.create(database)
        self.warehouse.fill(EXPECTED, self.folder / "expected.csv")
        self.expected = self.warehouse.image(EXPECTED)
        deliver(self.folder, SEEDED, self.folder / "target.csv")
        contenders.ours(self.warehouse.dsn(TEMPLATE), SEEDED, self.folder)
        for key, file in self.days.items():
            deliver(self.folder, key, file)
        self.warehouse.finish(TEMPLATE)

    def limit(self, name: str, *, checked: bool) -> None:
        """The script for one day after the other, by so many hands."""

        def load(day: Path) -> None:
            contenders.limit(self.psql, self.warehouse.dsn(), day)

        self._fresh((name, "limit", "first"), lambda: spread(load, list(self.days.values()), AT_ONCE[name]), checked)

    def ours(self, name: str, *, checked: bool) -> None:
        """So many processes of ours; each takes every so-many-th day."""
        lake = self.folder / "lake" / "public.orders"
        for key in self.days:
            shutil.rmtree(lake / f"partition={key}", ignore_errors=True)
        shares = [list(self.days)[place :: AT_ONCE[name]] for place in range(AT_ONCE[name])]

        def load(share: list[str]) -> None:
            contenders.ours(self.warehouse.dsn(), share, self.folder)

        self._fresh((name, "ours", "first"), lambda: spread(load, shares, AT_ONCE[name]), checked)

    def _fresh(self, key: tuple[str, str, str], load: Callable[[], Run], checked: bool) -> None:
        self.warehouse.restore(TEMPLATE)
        self.turn(key, load)
        if checked:
            self.compare(key)


def spread(load: Callable[..., None], shares: Sequence[object], hands: int) -> Run:
    """Work through the shares with so many at a time; what it took together."""
    cpu, began = cpu_of_children(), time.perf_counter()
    with ThreadPoolExecutor(hands) as pool:
        list(pool.map(load, shares))
    return Run(time.perf_counter() - began, 0, cpu_of_children() - cpu, "")


def main() -> int:
    options = parse()
    figures, load_before = Figures(), report.load_average()
    with embedded_postgres(SETTINGS, durable=True) as server:
        bench = Backfill(Warehouse(server), figures, psql=postgres_bin() / "psql", folder=ROOT)
        report.say(f"{options.partitions} days of {options.batch_rows:,} rows into {options.target_rows:,}")
        try:
            bench.make(options.target_rows, options.batch_rows, options.partitions)
            bench.prepare()
            for number in range(options.rounds):
                for name in AT_ONCE:
                    bench.limit(name, checked=number == 0)
                    bench.ours(name, checked=number == 0)
                    report.say(f"  round {number + 1} of {options.rounds}, {name}: {figures.last(name)}")
        except ContenderError as error:
            report.fail(str(error))
            return 1
        sizes = {"target_rows": options.target_rows, "batch_rows": options.batch_rows}
        facts = report.facts(Warehouse(server), load_before, partitions=options.partitions, **sizes)
    shutil.rmtree(ROOT, ignore_errors=True)
    report.console.print(comparison.first_loads(figures))
    stands = [(f"{name}: ours ÷ limit", ratio(figures, name), MOST) for name in AT_ONCE if not options.quick]
    document = {"facts": facts, "rounds": options.rounds, "runs": report.as_json(figures)}
    return report.conclude("backfill", stands, document, full=not options.quick)


def ratio(figures: Figures, name: str) -> float:
    return figures.median(name, "ours", "first") / figures.median(name, "limit", "first")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=30, help="how many days (30)")
    sized(parser, batch_rows=50_000)
    return quickened(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

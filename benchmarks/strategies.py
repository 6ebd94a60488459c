"""``make bench-strategies``: every write strategy against the SQL that an expert would write for it.

    python benchmarks/strategies.py [--rounds 3] [--quick] [--only KIND …] [--limits-only]

Both work on the table that our product created. The script is benchmarks/limits/KIND.sql, in psql; ours is the
whole process. Every result is compared with what DuckDB computed from the files.
Exit code 1: a goal was missed, or a result is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import comparison
import contenders
import expected
import report
import rows
from contenders import ContenderError, Run, deliver
from kinds import KINDS, Kind
from measure import EXPECTED, PARTITION, SEEDED
from options import quickened, sized
from turns import Figures, Turns
from warehouse import Warehouse

from airflow_idempotent.testing.postgres import embedded_postgres, postgres_bin

ROOT = Path(__file__).parent.parent / ".bench" / "strategies"
SETTINGS = {"autovacuum": "off"}
MOST = 1.2
OLDER = "select _idem_batch_id from orders where order_date = date '2024-03-01' limit 1"
DAYS_APART = """
do $$ begin
    for day in 0..60 loop
        begin
            execute format('create table orders_day%s partition of orders for values from (%L) to (%L)',
                day, date '2024-01-01' + day, date '2024-01-02' + day);
        exception when invalid_object_definition or duplicate_table then null;  -- the day has its table
        end;
    end loop;
end $$
"""


@dataclass
class StrategyBench(Turns):
    """One strategy: its files, its template database, and who takes turns on copies of it."""

    kind: Kind = field(kw_only=True)
    folder: Path = field(kw_only=True)
    psql: Path = field(kw_only=True)
    sizes: tuple[int, int] = field(kw_only=True)
    by_hand: bool = field(kw_only=True)
    """Without our product: the table is created by hand."""
    older: str = ""
    """Id of the batch that the measured one replaces."""

    @property
    def spec(self) -> Path:
        return self.folder / "spec.yaml"

    def file(self, part: str) -> Path:
        return self.folder / f"{part}.csv"

    def make(self) -> None:
        """Write spec and files."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.spec.write_text(self.kind.spec())
        made = self.kind.make(*self.sizes)
        present = {part: found for part in ("seed", "rest", "batch", "older") if (found := getattr(made, part))}
        for part, columns in present.items():
            rows.write(self.file(part), rows.slices(columns))
        files = {part: self.file(part) for part in present}
        types = {part: self._types(part) for part in present}
        expected.rows_after(self.kind.expected, files, types, list(self.kind.columns), self.file("expected"))

    def _types(self, part: str) -> dict[str, str]:
        """The rest has no ``op``: it stands in the table already."""
        delivered = self.kind.delivered
        return {name: kind for name, kind in delivered.items() if part != "rest" or name != "op"}

    def prepare(self) -> None:
        """The template: table and ledger after a first load, and the rest of the rows beside it."""
        name, named = self.kind.name, ", ".join(self.kind.columns)
        for database in (EXPECTED, name):
            self.warehouse.create(database)
        create = "create table orders (" + ", ".join(f"{n} {k}" for n, k in self.kind.columns.items()) + ")"
        copy = f"copy orders ({named}) from stdin (format csv, header)"
        self.warehouse.fill(EXPECTED, self.file("expected"), create=create, copy=copy)
        self.expected = self.warehouse.image(EXPECTED)
        if self.by_hand:
            self._create()
        else:
            deliver(self.folder, SEEDED, self.file("seed"))
            contenders.ours(self.warehouse.dsn(name), SEEDED, self.folder, spec=self.spec)
        self._cut()
        self._fill("rest", self.kind.fill)
        if self.kind.create:
            self._beside("seed", self.kind.create)
        if self.file("older").exists():
            self._load_older()
        deliver(self.folder, PARTITION, self.file("batch"))
        self.warehouse.finish(name)
        if (lake := self.folder / "lake").exists():
            shutil.copytree(lake, self.folder / "lake.before")

    def _create(self) -> None:
        columns = ", ".join(f"{n} {k}" for n, k in self.kind.columns.items())
        hidden = f", {self.kind.hidden} text" if self.kind.hidden else ""
        key = f", primary key ({self.kind.key})" if self.kind.key else ""
        tail = "partition by range (order_date)" if "declarative" in self.kind.spec() else "with (fillfactor = 85)"
        self.warehouse.execute(self.kind.name, f"create table orders ({columns}{hidden}{key}) {tail}")
        if self.kind.hidden:
            self.warehouse.execute(self.kind.name, f"create index on orders ({self.kind.hidden})")
        self._cut()
        gone = " where op <> 'D'" if "op" in self.kind.extras else ""
        listed = self.kind.fill if self.kind.fill != "*" else ", ".join(self.kind.columns)
        self._fill("seed", listed, gone)

    def _cut(self) -> None:
        """A child for every day, where the table is partitioned."""
        if "declarative" in self.kind.spec():
            self.warehouse.execute(self.kind.name, DAYS_APART)

    def _fill(self, part: str, listed: str, where: str = "") -> None:
        names = [*self.kind.columns, *([self.kind.hidden] if self.kind.hidden else [])]
        self._beside(part, f"insert into orders ({', '.join(names)}) select {listed} from delivered{where}")

    def _beside(self, part: str, then: str) -> None:
        """Run SQL with a file of rows in the temporary table ``delivered``."""
        types = self._types(part)
        create = "create temp table delivered (" + ", ".join(f"{n} {k}" for n, k in types.items()) + ")"
        copy = "copy delivered from stdin (format csv, header)"
        self.warehouse.fill(self.kind.name, self.file(part), create=create, copy=copy, after=then)

    def _load_older(self) -> None:
        """The batch that the measured one replaces."""
        name = self.kind.name
        if self.by_hand:
            self._fill("older", "*, '20240301_01'")
        else:
            deliver(self.folder, PARTITION, self.file("older"))
            contenders.ours(self.warehouse.dsn(name), PARTITION, self.folder, spec=self.spec)
        self.older = str(self.warehouse.value(name, OLDER))

    def limit(self, *, checked: bool) -> None:
        """The hand-written script, twice."""
        self.warehouse.restore(self.kind.name)
        words = {"older": self.older, "batch": "20240301_99"} if self.kind.hidden else {}
        for phase in ("first", "rerun"):
            key = (self.kind.name, "limit", phase)
            dsn, file, script = self.warehouse.dsn(), self.file("batch"), self.kind.script
            load = lambda: contenders.limit(self.psql, dsn, file, script=script, **words)  # noqa: B023, E731
            self.turn(key, load)
            if checked:
                self.compare(key)
            self.warehouse.read()

    def ours(self, *, checked: bool) -> None:
        """Our ``run``, twice."""
        self.warehouse.restore(self.kind.name)
        shutil.rmtree(self.folder / "lake", ignore_errors=True)
        shutil.copytree(self.folder / "lake.before", self.folder / "lake")
        for phase in ("first", "rerun"):
            key = (self.kind.name, "ours", phase)
            self.our_turn(key, self._run, counted=checked and phase == "rerun")
            if checked:
                self.compare(key)
            self.warehouse.read()

    def _run(self) -> Run:
        return contenders.ours(self.warehouse.dsn(), PARTITION, self.folder, spec=self.spec)


def main() -> int:
    options = parse()
    figures, load_before, failed = Figures(), report.load_average(), False
    sizes = (options.target_rows, options.batch_rows)
    with embedded_postgres(SETTINGS, durable=True) as server:
        for name in options.only:
            kind = KINDS[name]
            warehouse = replace(Warehouse(server), columns=", ".join(kind.columns))
            words = {"kind": kind, "folder": ROOT / name, "psql": postgres_bin() / "psql", "sizes": sizes}
            bench = StrategyBench(warehouse, figures, by_hand=options.limits_only, **words)
            try:
                measure(bench, options.rounds)
            except ContenderError as error:
                report.fail(f"{name}: {error}")
                failed = True
            warehouse.drop(name)
            shutil.rmtree(ROOT / name, ignore_errors=True)
        facts = report.facts(Warehouse(server), load_before, target_rows=sizes[0], batch_rows=sizes[1])
    return max(int(failed), comparison.publish("strategies", figures, facts, options, most=MOST))


def measure(bench: StrategyBench, rounds: int) -> None:
    """A B A B, on fresh copies of one database."""
    report.say(f"{bench.kind.name}: {bench.sizes[1]:,} rows into {bench.sizes[0]:,}")
    bench.make()
    bench.prepare()
    for number in range(rounds):
        bench.limit(checked=number == 0)
        if not bench.by_hand:
            bench.ours(checked=number == 0)
        report.say(f"  round {number + 1} of {rounds}: {bench.figures.last(bench.kind.name)}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sized(parser)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--limits-only", action="store_true", help="only the scripts, on tables made by hand")
    return quickened(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

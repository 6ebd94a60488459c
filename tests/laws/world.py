"""Tables, batches and histories for the laws: drawn by hypothesis, landed as files, loaded by the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.landing.inputs import FilesInput
from airflow_idempotent.landing.land import Landed, land
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from tests.model.merge import Row, Table, Value

COLUMNS = ("shop", "sku", "ver", "minor", "v", "n", "d")
PARTITIONS = ("2025-05-01", "2025-05-02", "2025-05-03")
LAYOUTS = {
    "primary key": "PRIMARY KEY (shop, sku))",
    "no index": "UNIQUE (shop, sku, ver))",
    "by partitions": "UNIQUE (shop, sku, d)) PARTITION BY LIST (d)",
}
TEXTS = ("", "a", "B", "b", "é", "\U0001f600", 'quo"te', "a,b", "two\nlines", " ", "NULL", "\\N", "\\", "'")


def law(test: Callable[..., None]) -> Callable[..., None]:
    """A test whose examples are some twenty transactions each: fewer of them than elsewhere."""
    return settings(max_examples=settings.default.max_examples // 8)(test)


@dataclass(frozen=True)
class Batch:
    """What one partition's file holds at one time."""

    partition: str
    revision: int
    rows: tuple[Row, ...]

    def csv(self) -> str:
        lines = [",".join(COLUMNS), *(",".join(map(field_of, (row[name] for name in COLUMNS))) for row in self.rows)]
        return "\n".join(lines) + "\n"


def field_of(value: Value) -> str:
    """A value as our CSV files have it: text in quotes, NULL as nothing."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else '"' + value.replace('"', '""') + '"'


def rows() -> st.SearchStrategy[Row]:
    """Few keys, few versions, odd texts: collisions and ties are the rule."""
    versions = st.none() | st.integers(0, 2)
    values = [st.integers(0, 2), st.sampled_from(("x", "X")), versions, versions, st.none() | st.sampled_from(TEXTS)]
    values += [st.none() | st.integers(-1, 1), st.sampled_from(("p", "q"))]
    return st.builds(lambda *row: dict(zip(COLUMNS, row, strict=True)), *values)


@st.composite
def histories(draw: st.DrawFn, *, most: int = 4) -> list[Batch]:
    """Batches of three partitions, each numbered within its own, in the order of their landing."""
    found: list[Batch] = []
    for _ in range(draw(st.integers(1, most))):
        partition = draw(st.sampled_from(PARTITIONS))
        revision = 1 + sum(batch.partition == partition for batch in found)
        content = tuple(draw(st.lists(rows(), max_size=6)))
        if not any(
            batch.partition == partition and batch.csv() == Batch(partition, 0, content).csv() for batch in found
        ):
            found.append(Batch(partition, revision, content))
    return found


@dataclass
class World:
    """A database, a landing folder, and a new table whenever one is wanted."""

    connect: Callable[[], Any]
    folder: Path
    numbers: Any = field(default_factory=lambda: count(1))
    lines: list[Any] = field(default_factory=list)

    def table(
        self, layout: str = "primary key", version: Sequence[str] = ("ver", "minor"), *, checked: bool = False
    ) -> LoadSpec:
        """A spec, and the empty table for it. A check takes the batch through a table of its winners."""
        name = f"t{next(self.numbers)}"
        columns = "shop int, sku text, ver int, minor int, v text, n int, d text"
        self.sql(f"CREATE TABLE {name} ({columns}, {LAYOUTS[layout]}")
        if layout == "by partitions":
            for part in ("p", "q"):
                self.sql(f"CREATE TABLE {name}_{part} PARTITION OF {name} FOR VALUES IN ('{part}')")
        checks = [{"unique": ["shop", "sku"]}] if checked else []
        return LoadSpec(table=name, unique_key=["shop", "sku"], version=list(version), checks=checks, lock_timeout=60)

    def model(self, spec: LoadSpec) -> Table:
        return Table(COLUMNS, spec.unique_key, spec.version)

    def land(self, spec: LoadSpec, batch: Batch) -> Landed:
        """Put the file where a source would have it, and land it."""
        source = self.folder / "inbox" / spec.table / f"{batch.partition}.csv"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(batch.csv(), encoding="utf-8", newline="")
        return self._landed(spec, source, batch.partition)

    def land_file(self, spec: LoadSpec, source: Path, partition: str) -> Manifest:
        """Land a file as it is."""
        return self._landed(spec, source, partition).manifest

    def _landed(self, spec: LoadSpec, source: Path, partition: str) -> Landed:
        files, store = FilesInput((source,), str(source)), BatchStore(self.folder / "lake")
        return land(files, store=store, table=spec.table, partition=spec.partition(partition))

    def landed(self, spec: LoadSpec, history: Sequence[Batch]) -> list[Manifest]:
        """All batches, landed one after the other."""
        return [self.land(spec, batch).manifest for batch in history]

    def load(self, spec: LoadSpec, manifest: Manifest, *, connect: Callable[[], Any] | None = None) -> Receipt:
        load = Load(spec, spec.partition(manifest.partition), manifest)
        return stage_merge(load, connect=connect or self.connect, batches=BatchStore(self.folder / "lake"))

    def rows(self, spec: LoadSpec) -> dict[tuple[Value, ...], Row]:
        """The table as the model has it."""
        found = self.sql(f"SELECT {', '.join(COLUMNS)} FROM {spec.table}")
        listed = [dict(zip(COLUMNS, row, strict=True)) for row in found]
        keyed = {tuple(row[name] for name in spec.unique_key): row for row in listed}
        assert len(keyed) == len(listed), "a key twice"
        return keyed

    def physical(self, spec: LoadSpec) -> list[tuple[Any, ...]]:
        """Every row with the place it lies at and the transaction that wrote it."""
        return self.sql(f"SELECT tableoid, ctid::text, xmin::text, xmax::text, t.* FROM {spec.table} t ORDER BY 1, 2")

    def terminate(self, pid: int) -> None:
        """End a session, and wait until it is gone."""
        self.sql("SELECT pg_terminate_backend(%s)", [pid])
        while self.sql("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]):
            time.sleep(0.002)

    def sql(self, text: str, binds: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement on a connection that stays open."""
        if not self.lines:
            self.lines.append(self.connect())
            self.lines[0].autocommit = True
        with self.lines[0].cursor() as cursor:
            cursor.execute(text, binds)
            return list(cursor.fetchall()) if cursor.description else []

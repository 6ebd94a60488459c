"""``assert_idempotent``: the four laws, tried on a table of yours with batches of yours."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.testing.batches import BY, Given, batches_of, land_all
from airflow_idempotent.testing.laws import Laws
from airflow_idempotent.testing.scratch import scratch
from airflow_idempotent.testing.trial import Trial

Progress = Callable[[str, int, int], None]
"""Told (what is tried, how much of it is done, how much there is)."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was tried, without a law broken. ``digest`` is of the rows that all trials ended in.

    ``repetitions`` counts loads of a batch that was loaded already, ``loads`` all of them.
    """

    table: str
    strategy: str
    batches: int
    partitions: int
    orders: int
    possible_orders: int
    repetitions: int
    crashes: int
    moments: int
    loads: int
    rows: int
    digest: str
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.strategy} holds the laws for {self.batches} batches of {self.partitions} partitions\n"
            f"  commute: {self.orders} of {self.possible_orders:,} orders end in the same {self.rows:,} rows, "
            f"digest {self.digest}\n"
            f"  rerun, isolate: {self.repetitions:,} repetitions write nothing, and leave other partitions alone\n"
            f"  crash: {self.crashes:,} cuts at {self.moments:,} moments, each tried again, equal a clean run\n"
            f"  {self.loads:,} loads in {self.seconds:.1f} s"
        )


def assert_idempotent(
    spec: LoadSpec | Mapping[str, Any] | str | PathLike[str],
    batches: Given,
    *,
    connect: Connect | None = None,
    ddl: str = "",
    orders: int = 12,
    crashes: int | Literal["all"] = 24,
    seed: object = 0,
    ignore: Collection[str] = (),
    progress: Progress | None = None,
) -> Proof:
    """Load batches in many orders, with repetitions and cut connections, and assert that all end in the same rows.

    Everything happens in scratch databases, by the real engine: in a PostgreSQL that is started
    once per process, or beside the database of ``connect``, which is copied and never written to.

    Args:
        spec: a spec, its words as a mapping, or the path of its YAML file.
        batches: in the order in which they landed; see ``Batch``. A mapping {partition: [rows, newer rows]} will do.
        connect: opens a connection to a database that has the table; nobody may be connected to it.
        ddl: SQL that creates the table, where the spec has no ``columns`` or the table has more than they say.
        orders: how many orders of loading to try.
        crashes: how many cuts to try, or ``"all"``: before every statement, within every COPY, after every COMMIT.
        seed: other seeds try other orders and moments; the same one tries the same.
        ignore: columns that may differ from run to run, as a serial number or the time of loading.
        progress: told how far it is.

    Raises:
        LawBrokenError: an AssertionError that tells which law, where, and which keys differ.
        IdempotentError: the batches cannot be loaded even once, in the order given.
        PostgresUnavailableError: there is no PostgreSQL to start.
    """
    started = time.monotonic()
    table = spec_of(spec)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="idem-proof-")))
        store = BatchStore(folder / "lake")
        manifests = land_all(table, batches_of(batches), store, folder / "inbox")
        databases = stack.enter_context(scratch(connect, ddl=ddl, table=table.table))

        def begin(copied: Connect) -> Trial:
            return Trial(table, copied, store, manifests, frozenset(ignore))

        laws = Laws(databases, begin, len(manifests), seed, progress or _nobody)
        clean = laws.clean_run(stack)
        laws.any_order(clean, orders)
        laws.any_crash(clean, crashes)
    end, done = clean.contents[-1], laws.tried
    return Proof(
        table=table.table,
        strategy=table.strategy.kind,
        batches=len(manifests),
        partitions=len({manifest.partition for manifest in manifests}),
        **done.as_dict(),
        rows=end.rows,
        digest=end.digest,
        seconds=round(time.monotonic() - started, 3),
    )


def spec_of(given: LoadSpec | Mapping[str, Any] | str | PathLike[str]) -> LoadSpec:
    """The spec, however it was given. A mapping needs no source and no start_date.

    Raises:
        SpecError: everything that is wrong with it.
    """
    from airflow_idempotent.spec.loader import load_file, load_mapping

    if isinstance(given, LoadSpec):
        return given
    if not isinstance(given, Mapping):
        return load_file(Path(given))
    stand_in = {"source": {"kind": "files", "path": "*"}, "start_date": "1970-01-01"}
    return load_mapping({**stand_in, **given}, name=f"the spec of {BY}")


def _nobody(what: str, done: int, of: int) -> None:
    """Nobody asked for progress."""

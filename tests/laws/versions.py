"""A table and its versions on trial, what is done with them, and a model in Python of what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import Any

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt, Timeouts
from airflow_idempotent.core.version import Keeping, RollbackOrder, SwapOrder, version_name
from airflow_idempotent.engine.retiring import clean_up
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import IdempotentError, RollbackError, ShadowError, SwapSupersededError
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from tests.laws.world import World
from tests.loading import Batches

Rows = dict[str, int]
"""Day and revision: each day has one row, which says which batch it is of."""
DAYS = ("2025-05-01", "2025-05-02", "2025-05-03")
COLUMNS = [{"name": "d", "data_type": "date"}, {"name": "v", "data_type": "int"}]
TIMEOUTS = Timeouts(lock=60)
KEPT = ("RETIRED", "ROLLED_BACK")


@dataclass(frozen=True)
class Act:
    """One thing done with a table: ``build``, ``compare``, ``load``, ``swap``, ``rollback`` or ``clean``, by a run.

    A load is of a batch, in a version where it builds one.
    """

    kind: str
    run: str
    day: str = ""
    revision: int = 0
    version: int = 0
    keep: int = 1

    def again_as(self, kind: str) -> Act:
        """Another act on the same batch."""
        return replace(self, kind=kind)


@dataclass
class Known:
    """A version as it should be."""

    state: str
    rows: Rows
    since: int = 0


@dataclass
class Model:
    """All versions of the table, and what each run has done."""

    versions: dict[int, Known]
    live: int = 1
    swapped: dict[str, int] = field(default_factory=dict)
    """By run, the version that it made live last."""
    rolled_back: set[str] = field(default_factory=set)
    clock: int = 0

    @property
    def rows(self) -> Rows:
        return self.versions[self.live].rows

    @property
    def building(self) -> int:
        """The version that a load into a shadow is meant for."""
        built = [number for number, known in self.versions.items() if known.state == "BUILT"]
        return max(built, default=max(self.versions) + 1)

    def after(self, act: Act) -> Model:
        """What comes of it, whether it is done for the first time or again.

        Raises:
            IdempotentError: it must be refused.
        """
        found = deepcopy(self)
        getattr(found, f"_{act.kind}")(act)
        return found

    def _load(self, act: Act) -> None:
        self.rows[act.day] = max(self.rows.get(act.day, 0), act.revision)

    def _build(self, act: Act) -> None:
        known = self.versions.setdefault(act.version, Known("BUILT", {}))
        if known.state not in ("BUILT", "SWAPPED"):
            raise _refusal(ShadowError)
        known.rows[act.day] = max(known.rows.get(act.day, 0), act.revision)

    def _compare(self, act: Act) -> None:
        """Writes no row."""

    def _swap(self, act: Act) -> None:
        if act.run in self.swapped:
            return self._only_if_live(act)
        built = [number for number, known in self.versions.items() if known.state == "BUILT"]
        if not built:
            raise _refusal(ShadowError)
        return self._exchange(act, max(built), "RETIRED")

    def _rollback(self, act: Act) -> None:
        if act.run in self.rolled_back:
            return self._only_if_live(act)
        now = self.versions[self.live]
        if any(
            known.state == "ROLLED_BACK" and number > self.live and known.since <= now.since
            for number, known in self.versions.items()
        ):
            return None  # that is where it came from
        retired = [number for number, known in self.versions.items() if known.state == "RETIRED"]
        if not retired:
            raise _refusal(RollbackError)
        self.rolled_back.add(act.run)
        return self._exchange(act, max(retired), "ROLLED_BACK")

    def _only_if_live(self, act: Act) -> None:
        if self.swapped[act.run] != self.live:
            raise _refusal(SwapSupersededError)

    def _exchange(self, act: Act, number: int, leaves_as: str) -> None:
        for version, state in ((self.live, leaves_as), (number, "SWAPPED")):
            self.clock += 1
            self.versions[version] = replace(self.versions[version], state=state, since=self.clock)
        self.live, self.swapped[act.run] = number, number

    def _clean(self, act: Act) -> None:
        kept = [number for number, known in self.versions.items() if known.state in KEPT]
        newest_first = sorted(kept, key=lambda number: self.versions[number].since, reverse=True)
        for number in newest_first[act.keep :]:
            self.versions[number] = replace(self.versions[number], state="DROPPED")


def _refusal(kind: type[IdempotentError]) -> IdempotentError:
    """Only its kind is looked at."""
    return kind.__new__(kind)


class Table:
    """A table in a schema of its own; every day is loaded once."""

    def __init__(self, world: World) -> None:
        self.world, self.batches = world, Batches()
        self.schema = f"s{next(world.numbers)}"
        self.live = Relation(self.schema, "orders")
        world.sql(f"CREATE SCHEMA {self.schema}")
        self.spec = LoadSpec(
            table=str(self.live), unique_key="d", columns=COLUMNS, partition_by={"column": "d"}, lock_timeout=60
        )
        self.revisions = {day: count(1) for day in DAYS}
        self.model = Model({1: Known("SWAPPED", {})})
        for day in DAYS:
            self.did(self.new("load", day=day))

    def new(self, kind: str, *, day: str = DAYS[0], run: str = "r0", keep: int = 1) -> Act:
        """An act of the next batch of that day, or of that run."""
        if kind not in ("load", "build"):
            return Act(kind, run, keep=keep)
        return Act(kind, run, day, next(self.revisions[day]), self.model.building)

    def did(self, act: Act) -> None:
        """Do it undisturbed, and have it as the model says."""
        self.do(act)
        self.model = self.model.after(act)

    def do(self, act: Act, connect: Callable[[], Any] | None = None) -> None:
        """Do it, as a task would: the same run again is a retry of it, or is cleared."""
        connect, attempt = connect or self.world.connect, Attempt("orders", act.run, act.kind)
        words: dict[str, Any] = {"connect": connect, "attempt": attempt}
        if act.kind in ("load", "build", "compare"):
            load = self._load(act)
            if act.kind == "compare":
                validate(load, **words)
            else:
                stage_merge(load, batches=self.batches, **words)
        elif act.kind == "swap":
            swap(SwapOrder(self.live, on_dependents="carry", timeouts=TIMEOUTS), **words)
        elif act.kind == "rollback":
            rollback(RollbackOrder(self.live, on_dependents="carry", accept_loss=True, timeouts=TIMEOUTS), **words)
        else:
            clean_up(self.live, Keeping(timedelta(0), act.keep), timeouts=TIMEOUTS, **words)

    def _load(self, act: Act) -> Load:
        text = f"d,v\n{act.day},{act.revision}\n"
        manifest = self.batches.land(self.spec, text, partition=act.day, revision=act.revision)
        target = "live" if act.kind == "load" else "shadow"
        spec = self.spec.model_copy(update={"table_version": act.version or 1})
        return Load(spec, spec.partition(act.day), manifest, target=target)

    def read(self, number: int | None = None) -> Rows:
        """What is in a version, or in the live table."""
        where = self.live if number in (None, self.model.live) else version_name(self.live, number or 0)
        return dict(self.world.sql(f"SELECT d::text, v FROM {where}"))

    def states(self) -> dict[int, str]:
        """What the journal says; version 1 is not in it before the first swap."""
        found = self.world.sql(
            "SELECT table_version, state FROM airflow_idempotent.table_versions WHERE table_name = %s",
            [self.spec.table],
        )
        return {1: "SWAPPED"} | dict(found)

    def is_as_the_model_says(self) -> bool:
        """Rows of each version, the journal, and the names of everything that is there."""
        there = {number: known for number, known in self.model.versions.items() if known.state != "DROPPED"}
        names = set()
        for number in there:
            name = "orders" if number == self.model.live else f"orders__v{number}"
            names |= {name, f"{name}_pkey"}
        relations = self.world.sql(
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'i')",
            [self.schema],
        )
        assert {name for (name,) in relations} == names
        assert self.states() == {number: known.state for number, known in self.model.versions.items()}
        assert {number: self.read(number) for number in there} == {
            number: known.rows for number, known in there.items()
        }
        return True

    def drop(self) -> None:
        self.world.sql(f"DROP SCHEMA {self.schema} CASCADE")

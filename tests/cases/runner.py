"""Runs cases: ``python -m tests.cases.runner --cases PATH`` prints how each went."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

from tests.cases import environment  # noqa: F401, before anything imports Airflow
from tests.cases.case import OWN, Case, Step, load_cases
from tests.cases.expectations import Broken, judge_end, judge_steps
from tests.cases.listening import listening
from tests.cases.notes import note_of
from tests.cases.operations import OPERATIONS, kept_copy
from tests.cases.setups import prepare
from tests.cases.steps import again
from tests.cases.support import Support, support_of
from tests.cases.verdict import Done, Result, Status, summary
from tests.cases.wiring import wired
from tests.cases.world import World, world_of

Database = Callable[[], AbstractContextManager[str]]
"""Makes an empty database and gives its address; it goes with the block."""


def run_case(case: Case, dsn: str, folder: Path) -> Result:
    """Run a case in an empty database and an empty folder."""
    support, started = support_of(case), time.monotonic()
    if not support.supported:
        return Result(case, Status.NOT_YET, support.reason)
    try:
        _run(case, support, dsn, folder)
    except Broken as broken:
        if support.reason and not support.cut:  # what is missing may be what it is about
            return Result(case, Status.NOT_YET, f"{support.reason} (without it: {broken})")
        return Result(case, Status.FAIL, str(broken), time.monotonic() - started)
    except Exception as error:  # noqa: BLE001, whatever a case does, the next one is run
        return Result(case, Status.FAIL, f"{type(error).__name__}: {error}", time.monotonic() - started)
    return Result(case, Status.PASS, support.reason, time.monotonic() - started)


def _run(case: Case, support: Support, dsn: str, folder: Path) -> None:
    with wired(), listening() as heard, world_of(case, dsn, folder) as world:
        prepare(world)
        keep_copy(world, support)
        done = [perform(world, step) for step in support.steps]
        world.memory["heard"] = heard
        judge_steps(world, done, cut=support.cut)
        judge_end(world, done, cut=support.cut)
        if note := note_of(case):
            note(world, done)
        _second_run(world, done, cut=support.cut)
        judge_end(world, done, cut=support.cut)


def perform(world: World, step: Step) -> Done:
    """Do a step. An error of an operator is what is judged; one of the runner itself ends the case."""
    operation = OPERATIONS[step["op"]]
    if not operation.works:
        return Done(step, operation, operation.run(world, step), None, {}, {})
    before, value, error = world.rows(), None, None
    try:
        value = operation.run(world, step)
    except Exception as failed:  # noqa: BLE001
        error = failed
    return Done(step, operation, value, error, before, world.rows())


def _second_run(world: World, done: Sequence[Done], *, cut: bool) -> None:
    """The whole operation again, without what went wrong the first time: no row may change."""
    before = world.rows()
    steps = [again(item.step) for item in done if item.operation.works and item.operation.again]
    once = [step for place, step in enumerate(steps) if step not in steps[place + 1 :]]
    repeated = [perform(world, step) for step in once]
    judge_steps(world, repeated, cut=cut, second=True)
    if (after := world.rows()) != before:
        raise Broken(f"a second run changed rows: {before} became {after}")


def keep_copy(world: World, support: Support) -> None:
    """Keep a copy of all tables, where a step will want them as they were."""
    if not any(step["op"] == "reset_target" for step in support.steps):
        return
    names = list(world.rows())
    world.execute("create schema case_copy")
    for name in names:
        world.execute(f"create table {kept_copy(name)} as table {name}")


# --- from a shell ---------------------------------------------------------------------------------


def run_files(paths: Sequence[Path], database: Database) -> Iterator[Result]:
    """Run all cases of some files, each in a database of its own."""
    for case in (case for path in paths for case in load_cases(path)):
        with ExitStack() as stack:
            dsn = stack.enter_context(database()) if support_of(case).supported else ""
            yield run_case(case, dsn, Path(stack.enter_context(TemporaryDirectory(prefix="idem-case-"))))


@contextmanager
def databases(server: str) -> Iterator[Database]:
    """A way to make databases on a server."""
    from importlib import import_module

    from tests.postgres_fixtures import DRIVERS

    admin = import_module(DRIVERS[0]).connect(server)
    admin.autocommit = True
    numbers = iter(range(1, 1_000_000))

    @contextmanager
    def database() -> Iterator[str]:
        name = f"idem_case_{next(numbers)}_{int(time.time())}"
        admin.cursor().execute(f"create database \"{name}\" template template0 encoding 'UTF8'")
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            admin.cursor().execute(f'drop database "{name}" with (force)')

    yield database
    admin.close()


def main(words: Sequence[str] | None = None) -> int:
    """Run the cases of the files given, or our own; 1 when one fails."""
    from airflow_idempotent.testing import embedded_postgres

    parser = argparse.ArgumentParser(prog="python -m tests.cases.runner", description=__doc__)
    parser.add_argument("--cases", action="append", type=Path, metavar="PATH", help="file of cases; may be repeated")
    paths = parser.parse_args(words).cases or OWN
    results: list[Result] = []
    for handler in logging.getLogger().handlers:
        handler.setLevel(logging.CRITICAL)  # what is logged is looked at, not shown
    with embedded_postgres({"max_connections": "200"}) as server, databases(server) as database:
        for result in run_files(paths, database):
            results.append(result)
            print(result.line, flush=True)  # noqa: T201
    print(summary(results)[-1])  # noqa: T201
    return int(any(result.status is Status.FAIL for result in results))


if __name__ == "__main__":
    sys.exit(main())

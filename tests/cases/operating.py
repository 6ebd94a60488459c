"""DAGs of the factory in operation: switched on late, backfilled, edited in the middle of a run, robbed of XComs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import date, timedelta
from itertools import islice
from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_idempotent import StageMergeOperator
from tests.cases import factory, loads
from tests.cases.case import Step
from tests.cases.concurrency import may_run_operators
from tests.cases.contexts import context
from tests.cases.factory import Daily, daily, days
from tests.cases.wiring import watching, wrapping
from tests.cases.words import instant
from tests.cases.world import World

SCALED = 16
"""Runs of a large backfill that are really done, spread over its range."""

LEAVES = """
    select pg_backend_pid()::text, count(distinct relation)::text from pg_locks join pg_class on oid = relation
    where pid = {pid} and relname like 'tgt_p%' and relkind = 'r'
"""


def unpause(world: World, step: Step) -> dict[str, Any]:
    """Switch a DAG on: what the scheduler would start in its first loops, the runs then done newest first."""
    table = daily(world)
    intervals = list(islice(table.intervals(table.spec.begin), 10))
    running = min(len(intervals), table.dag.max_active_runs)
    for interval in reversed(intervals):
        table.run(context("scheduled", logical_date=interval.start, interval=(interval.start, interval.end)))
    return {"at once": running, "catchup": table.dag.catchup, "loaded": len(intervals)}


def backfill(world: World, step: Step) -> dict[str, Any]:
    """Plan the whole range; do a part of its runs, as many at once as the step wants, each by a task of its own."""
    table = daily(world)
    first, last = (instant(step[word]).date() for word in ("from", "to"))
    whole = table.plan(table.manual(None, {"from_date": str(first), "to_date": str(last + timedelta(days=1))}))
    chosen = days(first, last, min(SCALED, int(step.get("runs", SCALED))))
    table.run(_backfill_run(chosen[0]))
    with ThreadPoolExecutor(int(step.get("parallel", 1)), initializer=may_run_operators) as pool:
        done = [pool.submit(copy_context().run, _day, table, day) for day in chosen[1:]]
        leaves = [future.result() for future in done]
    planned = sum(map(len, whole))
    return {"planned": planned, "tasks": len(whole), "done": len(chosen), "leaves": max(leaves)}


def _day(table: Daily, day: date) -> int:
    """One run of a backfill; how many leaves of the table its largest transaction had locked at its end."""
    locked: list[int] = []
    backend: list[Any] = []

    def watch(what: str) -> None:
        if what == "before COMMIT" and backend:
            [(_, leaves)] = table.world.sql(LEAVES.format(pid=backend[-1].info.backend_pid))
            locked.append(int(leaves or 0))

    def remember(connection: Any) -> Any:
        backend.append(connection)
        return connection

    with wrapping(remember), watching(watch):
        table.run(_backfill_run(day))
    return max(locked)


def _backfill_run(day: date) -> dict[str, Any]:
    start = instant(day)
    return context("backfill", logical_date=start, interval=(start, start + timedelta(days=1)))


# --- runs -----------------------------------------------------------------------------------------


def run(world: World, step: Step) -> Any:
    """The scheduled run of a logical date, or one under a spec of its own, of the case's table and file."""
    if "spec" not in step:
        return factory.run(world, step)
    world.memory["spec"] = step["spec"]
    return _under_its_spec(world, step)


def _under_its_spec(world: World, step: Step) -> Any:
    return loads.stage_merge(world, {"op": "stage_merge", "run": step["run"], **world.memory["spec"]})


def edit_spec(world: World, step: Step) -> None:
    """The spec says something else from now on."""
    world.memory["spec"] = {**world.memory["spec"], **step["to"]}


def clear_and_rerun(world: World, step: Step) -> Any:
    """The task of that run is cleared, and runs again under the spec as it is now."""
    return _under_its_spec(world, step)


# --- a spec that is edited ------------------------------------------------------------------------


def edit_spec_mid_run(world: World, step: Step) -> None:
    """The run has planned and landed; then its spec gets a check and calls a column otherwise."""
    table = daily(world)
    run = table.scheduled(instant("2024-05-01"))
    [planned] = table.plan(run)
    next(table.operators(planned)).execute(dict(run))
    tasks = sorted(table.dag.task_ids)
    renamed = [
        {**column, "name": "w" if column["name"] == "v" else column["name"]} for column in table.words["columns"]
    ]
    table.change(columns=renamed, checks=[{"row_count": {"min": 1}}])
    world.memory["run"] = (run, planned)
    assert sorted(table.dag.task_ids) == tasks, "task ids depend on options"


def finish_run(world: World, step: Step) -> str:
    """The tasks that are left stop before they write; planned again, the run goes through."""
    table, (run, planned) = daily(world), world.memory["run"]
    for operator in list(table.operators(planned))[1:]:
        try:
            operator.execute(dict(run))
        except AirflowFailException as stopped:
            world.memory["stopped"] = str(stopped)
        else:
            raise AssertionError("a task of the old plan went on under the new spec")
        assert "spec changed" in world.memory["stopped"], world.memory["stopped"]
    assert not world.rows(), "something was written under another spec than planned"
    world.folder.joinpath("days", "2024-05-01", "rows.csv").write_text("d,id,w\n2024-05-01,1,x\n")
    table.run(run)
    return str(world.memory["stopped"])


def run_task(world: World, step: Step) -> Any:
    """Run the merge task alone: its XComs are gone."""
    table = daily(world)
    run = table.scheduled(instant("2024-05-01"))
    [planned] = table.plan(run)
    next(table.operators(planned)).execute(dict(run))
    results = []
    for lost in (step.get("xcom"), "None", [], {"address": "None", "partition": "2024-05-01", "table": "public.daily"}):
        operator = StageMergeOperator(task_id="stage_merge", spec=table.spec, planned=step.get("xcom"), batch=lost)
        results.append(operator.execute(dict(run)))
    return results

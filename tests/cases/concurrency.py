"""Several steps at the same time, and sessions beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from datetime import date, timedelta
from functools import partial
from threading import Barrier, Event, Timer
from typing import Any

from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS

from tests.cases.case import Step
from tests.cases.wiring import watching
from tests.cases.words import DAY
from tests.cases.world import World

Run = Callable[[World, Step], Any]
PAUSE = 3.0
"""Seconds a paused step waits for the others, which may be waiting for it."""

PAUSES = {"stage": "after COPY"}
"""What a step pauses after, and how that looks on its connection."""


def concurrent(world: World, step: Step, run: Callable[[Step], Run]) -> list[Any]:
    """Run the inner steps in threads, begun in the same moment; each file has a day of its own, or the one it names."""
    files = list(dict.fromkeys(inner.get("file") for inner in step["steps"]))
    lines = _in_lines([_dated(files.index(inner.get("file")), inner) for inner in step["steps"]])
    barrier, others_done = Barrier(len(lines)), Event()
    unpaused = [line for line in lines if not any("pause_after" in inner for inner in line)]

    def work(line: Sequence[Step]) -> list[Any]:
        may_run_operators()
        barrier.wait()
        return [_paused(world, inner, run(inner), others_done) for inner in line]

    with ThreadPoolExecutor(len(lines)) as pool:
        futures = {id(line): pool.submit(copy_context().run, work, line) for line in lines}
        try:
            for line in unpaused:
                futures[id(line)].result()
        finally:
            others_done.set()
        return [value for line in lines for value in futures[id(line)].result()]


def may_run_operators() -> None:
    """Airflow 2 lets operators be run in its own thread only; in others it misses what it keeps for that."""
    if not AIRFLOW_V_3_0_PLUS:
        from airflow.models.baseoperator import ExecutorSafeguard

        ExecutorSafeguard._sentinel.callers = {}


def _in_lines(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps of one ``session`` come one after the other; all others have a line of their own."""
    lines: dict[Any, list[Step]] = {}
    for number, step in enumerate(steps):
        lines.setdefault(step.get("session", f"step {number}"), []).append(step)
    return list(lines.values())


def _dated(number: int, step: Step) -> Step:
    day = date.fromisoformat(DAY) + timedelta(days=number)
    return {"partition": str(day), **step}


def _paused(world: World, step: Step, run: Run, others_done: Event) -> Any:
    place = PAUSES.get(str(step.get("pause_after")))
    with ExitStack() as stack:
        if place:
            stack.enter_context(watching(lambda what: others_done.wait(PAUSE) if what == place else None))
        return run(world, step)


def later(world: World, step: Step, work: Callable[[], Any]) -> Any:
    """Begin the work at once; after ``at_s`` seconds let go of what a killed worker's backend waits for."""
    obstacle = world.sessions.get("obstacle")
    if obstacle is None or obstacle.closed:
        return work()
    world.memory["orphan lived"] = world.value(
        f"select count(*) from pg_stat_activity where pid = {world.memory['orphan'][0]}"
    )
    timer = Timer(float(step.get("at_s", 0)), obstacle.close)
    timer.start()
    try:
        return work()
    finally:
        timer.join()
        del world.sessions["obstacle"]


def session(world: World, step: Step, name: str) -> None:
    """Run SQL in a session of that name, which stays open for later steps."""
    if name not in world.sessions:
        world.sessions[name] = world.connect()
    cursor = world.sessions[name].cursor()
    cursor.execute(step["sql"])
    if cursor.description:
        world.memory.setdefault(name, []).append([tuple(map(str, row)) for row in cursor.fetchall()])


def session_named(name: str) -> Run:
    """``session_a`` and ``session_b``."""
    return partial(session, name=name)

"""swap, and what surrounds it: a step of a case by the public operator, readers beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from functools import partial
from threading import Event, Thread
from typing import Any

from airflow_idempotent import SwapTableOperator
from tests.cases.case import Step
from tests.cases.concurrency import may_run_operators
from tests.cases.contexts import context
from tests.cases.loads import with_fault
from tests.cases.world import World

STAYS = 1.5
"""Seconds that a session of a case stays in the way of a swap that begins after it."""


def swap(world: World, step: Step) -> Any:
    """One swap, or one of each table of the case at the same time."""
    if step.get("both"):
        return _each(world, step)
    if "start_at_s" in step:
        return _beside_a_reader(world, step)
    return with_fault(world, step, partial(_swap, world, step))


def build_shadow(world: World, step: Step) -> None:
    """A table like the live one, with the same rows."""
    live, shadow = step["live"], step["shadow"]
    world.execute(f"create table {shadow} (like {live} including all); insert into {shadow} select * from {live}")


def loop_reader(world: World, step: Step) -> None:
    """Sessions that read again and again until the case is over; what they meet is remembered."""
    ended, errors = Event(), world.memory.setdefault("reader errors", [])

    def read() -> None:
        with closing(world.connect()) as connection, connection.cursor() as cursor:
            while not ended.is_set():
                try:
                    cursor.execute(step["sql"])
                    cursor.fetchall()
                except Exception as error:  # noqa: BLE001, whatever a reader sees
                    errors.append(str(error))

    readers = [Thread(target=read) for _ in range(int(step.get("sessions", 1)))]
    for reader in readers:
        reader.start()

    def end() -> None:
        ended.set()
        for reader in readers:
            reader.join()

    world.at_end.append(end)


def _swap(world: World, step: Step) -> dict[str, Any]:
    operator = SwapTableOperator(
        task_id="swap",
        table=step["live"],
        shadow=step["shadow"],
        conn_id=world.conn_id(),
        lock_timeout=30,
        on_dependents="carry" if "reader errors" in world.memory else "refuse",
        **({"keep_for": 0, "keep_versions": 0} if step.get("drop_old") else {}),
    )
    task, attempt = f"swap_{step['live']}", int(step.get("attempt", 1))
    return operator.execute(context(str(step.get("run", "r1")), task=task, attempt=attempt))


def _each(world: World, step: Step) -> list[Any]:
    """A shadow for each table of the case, and all swaps at once."""
    loaded = [name for name in world.rows() if "new_" not in name and "__v" not in name]
    steps = [{"op": "swap", "live": name, "shadow": f"new_{number}"} for number, name in enumerate(loaded)]
    for shadow in steps:
        if not world.memory.get("shadows built"):
            build_shadow(world, shadow)
    world.memory["shadows built"] = True

    def work(one: Step) -> Any:
        may_run_operators()
        return _swap(world, one)

    with ThreadPoolExecutor(len(steps)) as pool:
        return [future.result() for future in [pool.submit(copy_context().run, work, one) for one in steps]]


def _beside_a_reader(world: World, step: Step) -> Any:
    """The swap begins while the case's sessions are in the way; another one reads meanwhile, then they end."""
    waits = world.memory.setdefault("waits", [])

    def read() -> None:
        until = time.monotonic() + STAYS
        with closing(world.connect()) as connection, connection.cursor() as cursor:
            while time.monotonic() < until:
                started = time.monotonic()
                cursor.execute(f"select * from {step['live']}")
                waits.append(time.monotonic() - started)
                time.sleep(0.05)
        for name in ("session_a", "session_b"):
            if name in world.sessions:
                world.sessions.pop(name).close()

    reader = Thread(target=read)
    reader.start()
    try:
        return _swap(world, step)
    finally:
        reader.join()


def lacking_swap(step: Step) -> Iterator[tuple[str, bool]]:
    """What a swap must say."""
    if not step.get("both") and not {"live", "shadow"} <= step.keys():
        yield "swap of no table", True

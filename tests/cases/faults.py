"""What goes wrong on purpose, by the words of the cases. A fault that does not happen fails the case."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_idempotent.landing import land as landing
from airflow_idempotent.landing.local_files import LocalDraft
from tests.cases.case import Step
from tests.cases.wiring import watching
from tests.cases.world import World
from tests.faults import Watch

Work = Callable[[], Any]
Fault = Callable[[World, Step, Work], None]
PATIENCE = 20.0
"""Seconds to wait for something that must happen."""

KILL = r"(kill|worker dies|process dies)"
WAITING = """
    select pid, application_name from pg_stat_activity
    where wait_event_type = 'Lock' and wait_event = 'relation' and datname = current_database()
"""
COUNTED = ("first", "second", "third", "fourth", "fifth")


class Interrupted(Exception):  # noqa: N818, what was meant to happen
    """The fault happened."""


def fault_of(step: Step) -> Fault | None:
    """The fault of a step; None when it has none, or none that we know."""
    text, op = str(step.get("fault", "")), step.get("op")
    return next(
        (fault for of, pattern, fault in FAULTS if text and of == op and re.search(pattern, text, re.IGNORECASE)), None
    )


def wait_for(question: Callable[[], Any], what: str) -> Any:
    """What the question answers, once it is no longer empty."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE:g} s for {what}")
        time.sleep(0.02)
    return answer


# --- an error in the process ----------------------------------------------------------------------


def _at(events: Sequence[str], happen: Callable[[str], None]) -> Watch:
    """Let it happen when these were seen on the connection, one after the other."""
    expected = list(events)

    def watch(what: str) -> None:
        if expected and what == expected[0]:
            expected.pop(0)
            if not expected:
                happen(what)

    return watch


def _raised(*events: str) -> Fault:
    def fault(world: World, step: Step, work: Work) -> None:
        def happen(what: str) -> None:
            raise Interrupted(what)

        with watching(_at(events, happen)):
            work()

    return fault


def _copy_raises(world: World, step: Step, work: Work) -> None:
    nth = next(number for number, word in enumerate(COUNTED, 1) if word in step["fault"])
    copied, copy_file = [], landing.copy_file

    def failing(path: Any, writer: Any) -> None:
        copied.append(path)
        copy_file(path, writer)
        if len(copied) == nth:
            raise Interrupted(f"copy {nth}")

    with replaced(landing, "copy_file", failing):
        work()


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Something else in the place of an attribute, as long as the block lasts."""
    kept = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, kept)


# --- a worker that is killed ----------------------------------------------------------------------


def fork(work: Work) -> int:
    """A worker process that does the work; its pid. It ends with 0, or with 1 after an error."""
    if pid := os.fork():
        return pid
    try:
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001, the parent asks for the exit code only
        os._exit(1)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _was_killed(pid: int) -> None:
    _, status = os.waitpid(pid, 0)
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise AssertionError(f"the worker was to be killed, it ended with status {status}")
    raise Interrupted("the worker was killed")


def _kill_before_publishing(world: World, step: Step, work: Work) -> None:
    def doomed() -> None:
        LocalDraft.publish = lambda draft, manifest: _die()  # type: ignore[method-assign,assignment]
        work()

    _was_killed(fork(doomed))


def _killed(*events: str) -> Fault:
    def fault(world: World, step: Step, work: Work) -> None:
        def doomed() -> None:
            with watching(_at(events, lambda what: _die())):
                work()

        _was_killed(fork(doomed))

    return fault


def _kill_while_writing(world: World, step: Step, work: Work) -> None:
    """Kill the worker while its backend waits to write; the backend goes on, until the lock in its way is gone."""
    obstacle = world.sessions["obstacle"] = world.connect()
    obstacle.cursor().execute(f"begin; lock table {step['target']} in share mode")
    pid = fork(work)
    [(orphan, name)] = wait_for(lambda: world.sql(WAITING), "the worker's backend to reach the table")
    os.kill(pid, signal.SIGKILL)
    world.memory["orphan"] = (orphan, name)
    _was_killed(pid)


def _upload_stops(world: World, step: Step, work: Work) -> None:
    from tests.cases.bucket import upload_stops

    upload_stops(world, step, work)


FAULTS: tuple[tuple[str, str, Fault], ...] = (
    ("land", r"kill -9 after the data file", _kill_before_publishing),
    ("land", rf"({'|'.join(COUNTED)}) copy raises", _copy_raises),
    ("land", r"upload stops", _upload_stops),
    ("swap", r"(kill|drop|die).*after (the )?commit", _raised("after SAVEPOINT idem_alter", "after COMMIT")),
    ("stage_merge", r"SIGKILL the worker during INSERT", _kill_while_writing),
    ("stage_merge", rf"{KILL}.*before (the )?commit", _killed("after COPY", "before COMMIT")),
    ("stage_merge", rf"{KILL}.*after (the )?commit", _killed("after COPY", "after COMMIT")),
    ("stage_merge", rf"{KILL}.*after (stag|the stag|copy)", _killed("after COPY")),
    ("stage_merge", r"(raise|drop|fail|lost|die).*before (the )?commit", _raised("after COPY", "before COMMIT")),
    ("stage_merge", r"(raise|drop|fail|lost|die).*after (the )?commit", _raised("after COPY", "after COMMIT")),
    ("stage_merge", r"(raise|drop|fail|lost|die).*after (the lock|stag|the stag|copy)", _raised("after COPY")),
)
"""Operation, what a case calls the fault, and what makes it happen."""

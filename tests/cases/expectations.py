"""What every case promises, whatever it is about, and what its file says must hold at its end."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

from airflow_idempotent.errors import IdempotentError
from tests.cases.case import Step
from tests.cases.factory import NoDagError
from tests.cases.faults import Interrupted
from tests.cases.notes import MAY_FAIL
from tests.cases.verdict import Done
from tests.cases.world import PASSWORD, World

OURS = (AirflowFailException, AirflowSkipException, IdempotentError, NoDagError)
"""What an operator may raise: text of ours, never an error of a driver as it is."""


class Broken(AssertionError):  # noqa: N818, said of a case
    """A case does not hold."""


def judge_steps(world: World, done: Sequence[Done], *, cut: bool, second: bool = False) -> None:
    """Each step must have ended as the case says, and a failed one must have left nothing behind."""
    worked = [item for item in done if item.operation.works]
    allowed = MAY_FAIL.get(world.case.id, ())
    for place, item in enumerate(worked):
        wanted = _wanted(world, item.step, last=item is worked[-1] and not cut, annotated=_annotated(done))
        if "fault" in item.step and not second:
            wanted = "fault"
        if place in allowed and item.error is not None:
            wanted = "fail"
        if second and wanted != "ok":
            wanted = "any"  # what stood in its way may be gone
        _judge(item, wanted)
        if item.error is not None and wanted != "fault":
            _judge_failure(world, item)


def _annotated(done: Sequence[Done]) -> bool:
    return any("expect" in item.step for item in done)


def _wanted(world: World, step: Step, *, last: bool, annotated: bool) -> str:
    """How a step has to end: ok, fail, skip, or any."""
    if "expect" in step:
        return str(step["expect"])
    outcome = world.case.outcome
    if outcome == "ok" or annotated:
        return "ok"
    return outcome if last or step.get("each") else "any"


def _judge(item: Done, wanted: str) -> None:
    error = item.error
    found = "ok" if error is None else "skip" if isinstance(error, AirflowSkipException) else "fail"
    if isinstance(error, Interrupted):
        found = "fault"
    if wanted not in ("any", found):
        raise Broken(f"{_shown(item.step)}: {wanted} was expected, it was {found}: {item.text}") from error


def _judge_failure(world: World, item: Done) -> None:
    where = _shown(item.step)
    if item.before != item.after:
        raise Broken(f"{where}: failed, and yet rows changed: {item.before} became {item.after}")
    if not isinstance(item.error, OURS):
        raise Broken(f"{where}: raises {type(item.error).__name__}, no error of ours: {item.text}") from item.error
    names = _names(item.step)
    if names and not any(name in item.text for name in names):
        raise Broken(f"{where}: its error names none of {sorted(names)}: {item.text}")
    _no_password(world, item.text)


def _names(step: Step) -> set[str]:
    """What an error may point at: the table, the file, a column."""
    table = str(step.get("target", "")).rpartition(".")[2].strip('"')
    keys = [step["keys"]] if isinstance(step.get("keys"), str) else step.get("keys") or []
    return {str(name) for name in (table, step.get("file"), step.get("dir"), *keys) if name}


def judge_end(world: World, done: Sequence[Done], *, cut: bool) -> None:
    """What must hold at the end of the case."""
    _nothing_open(world)
    for line in world.memory.get("heard", ()):
        _no_password(world, line)
    for end in world.memory.get("ends", ()):
        if end != world.rows():
            raise Broken(f"another order of the same rows ends elsewhere: {end} and {world.rows()}")
    for query, rows in () if cut else world.case.checks:
        if (found := world.sql(query)) != list(rows):
            raise Broken(f"{query}: {found}, not {list(rows)}")


def _nothing_open(world: World) -> None:
    """No session of an operator is left in a transaction; one that ends needs a moment."""
    deadline = time.monotonic() + 5
    while opened := world.open_transactions():
        if time.monotonic() > deadline:
            raise Broken(f"left open: {opened}")
        time.sleep(0.05)


def _no_password(world: World, text: str) -> None:
    if PASSWORD in text:
        raise Broken(f"shows the password: {re.sub(PASSWORD, '***', text)}")


def _shown(step: Step) -> str:
    names = ("op", "target", "file", "files", "logical_date", "conf")
    return " ".join(str(step[name]) for name in names if name in step)

"""A case's operation as plain steps: whatever stands for other steps is written out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

from tests.cases.case import Step
from tests.cases.policies import each_policy

ONCE = ("fault", "pause_after", "at_s", "start_at_s", "times", "attempt")
"""Words of a step that say how it goes this time; a later run of it goes without them."""


def plain_steps(operation: Sequence[Step]) -> tuple[Step, ...]:
    """The steps one by one. An operation that is none of ours stays as it is."""
    found: list[Step] = []
    for step in operation:
        written_out = _WRITTEN_OUT.get(step.get("op", ""), _itself)(step, found)
        found += [copy for copy in written_out for _ in range(int(copy.get("times", 1)))]
    return tuple(found)


def again(step: Step, **changes: Any) -> Step:
    """The same step on another occasion."""
    rest = {name: value for name, value in step.items() if name not in (*ONCE, *changes)}
    if "steps" in rest:
        rest["steps"] = [again(inner) for inner in rest["steps"]]
    return rest | changes


def _itself(step: Step, before: Sequence[Step]) -> list[Step]:
    return [step]


def _each(step: Step, before: Sequence[Step]) -> list[Step]:
    """``stage_merge_each``: every file on its own."""
    rest = {name: value for name, value in step.items() if name not in ("op", "files")}
    return [{"op": "stage_merge", "file": name, "each": True, **rest} for name in step["files"]]


def _repeat(step: Step, before: Sequence[Step]) -> list[Step]:
    return [again(earlier) for earlier in before]


def _retry(step: Step, before: Sequence[Step]) -> list[Step]:
    """``retry_same_run``: the last step of an operator, as its next attempt."""
    last = _last(before, "land", "stage_merge", "validate", "swap", "concurrent")
    later = {"at_s": step["at_s"]} if "at_s" in step else {}
    return [again(last, attempt=int(last.get("attempt", 1)) + 1, **later)]


def _after_crash(step: Step, before: Sequence[Step]) -> list[Step]:
    """``rerun_after_crash``: a worker dies when it has staged its rows, then the task runs again."""
    last = _last(before, "concurrent", "stage_merge")
    first = last["steps"][0] if last["op"] == "concurrent" else last
    return [again(first, fault="kill -9 after staging"), again(first, attempt=2)]


def _reset(step: Step, before: Sequence[Step]) -> list[Step]:
    changes = {name: value for name, value in step.items() if name != "op"}
    return [{"op": "reset_target"}, again(_last(before, "stage_merge"), **changes)]


def _permutations(step: Step, before: Sequence[Step]) -> list[Step]:
    rest = {name: value for name, value in step.items() if name not in ("op", "files")}
    found: list[Step] = []
    for order in permutations(step["files"]):
        found += [{"op": "reset_target"}] if found else []
        found += [{"op": "stage_merge", "file": name, **rest} for name in order]
    return found


def _last(before: Sequence[Step], *ops: str) -> Step:
    return next((step for step in reversed(before) if step.get("op") in ops), {"op": "nothing to run again"})


def _days(step: Step, before: Sequence[Step]) -> list[Step]:
    """``for_days``: its steps once for each day."""
    return [dict(inner) for _ in range(int(step["n"])) for inner in step["steps"]]


_WRITTEN_OUT: Mapping[str, Callable[[Step, Sequence[Step]], list[Step]]] = {
    "for_days": _days,
    "for_every_permutation_of": _permutations,
    "incremental_run": lambda step, before: each_policy(step),
    "repeat": _repeat,
    "rerun_after_crash": _after_crash,
    "reset_target_and_rerun_with": _reset,
    "retry_same_run": _retry,
    "stage_merge_each": _each,
}

"""How notes ask their questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.cases.case import Step
from tests.cases.operations import OPERATIONS
from tests.cases.verdict import Done
from tests.cases.world import World

Note = Callable[[World, Sequence[Done]], None]


def says(done: Done, *words: str) -> None:
    """The step's error holds all these words."""
    for word in words:
        assert word in done.text, f"{word!r} is not in: {done.text or 'no error'}"


def effects(done: Done, **counts: int) -> None:
    """The receipt of the step counts exactly this, and nothing else."""
    found = {name: count for name, count in done.value["effects"].items() if count}
    assert found == counts, f"effects are {found}, not {counts}"


def equal(found: Any, wanted: Any) -> None:
    """Both are the same."""
    assert found == wanted, f"{found!r}, not {wanted!r}"


def refusal(work: Callable[[], Any]) -> str:
    """What something says that has to fail."""
    try:
        result = work()
    except Exception as error:  # noqa: BLE001, looked at by whoever asked
        return str(error)
    raise AssertionError(f"was to fail, and gave {result!r}")


def run(world: World, step: Step, **changes: Any) -> Any:
    """Do a step of the case once more, with other words."""
    return OPERATIONS[step["op"]].run(world, {**step, **changes})

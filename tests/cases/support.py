"""Which cases can be run, wholly or in part, and what stands in the way of the others. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.cases.case import Case, Step, own_cases
from tests.cases.operations import OPERATIONS, lacking
from tests.cases.setups import self_contained, setup_of
from tests.cases.steps import plain_steps

NOT_THERE: dict[str, str] = {}
"""Cases of which every step is there, and which do not hold yet."""


@dataclass(frozen=True)
class Support:
    """The plain steps that can be run. ``reason`` says what is left out, and is empty when nothing is.

    ``cut`` says that steps are missing at the end, so that what the case expects at its end
    cannot be asked for; otherwise single checks are missing.
    """

    steps: tuple[Step, ...]
    reason: str = ""
    cut: bool = False

    @property
    def supported(self) -> bool:
        """Whether there is anything for an operator to do."""
        return any(OPERATIONS[step["op"]].works for step in self.steps)


def support_of(case: Case) -> Support:
    """What of a case can be run: its steps up to the first that cannot."""
    setup = setup_of(case)
    steps = plain_steps(setup.steps(case) if setup and setup.steps else case.steps)
    if case.setup_note and not case.sql and not case.files and setup is None and not self_contained(steps):
        return Support((), "its setup is described in words only")
    if case.id in NOT_THERE and case == own_cases()[case.id]:
        return Support((), NOT_THERE[case.id])
    reasons: list[str] = []
    for place, step in enumerate(steps):
        found = list(lacking(step))
        reasons += [reason for reason, _ in found]
        if any(whole for _, whole in found):
            return Support(_with_work(steps[:place]), _joined(reasons), cut=True)
    return Support(steps, _joined(reasons))


def _with_work(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, if any of them is one of an operator."""
    return tuple(steps) if any(OPERATIONS[step["op"]].works for step in steps) else ()


def _joined(reasons: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))

"""How a case went, and how that is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.cases.case import Case, Step
from tests.cases.operations import Operation
from tests.cases.pooler import PGBOUNCER
from tests.cases.world import Rows


class Status(StrEnum):
    """What is said of a case."""

    PASS = "pass"
    FAIL = "fail"
    NOT_YET = "not supported yet"


@dataclass(frozen=True)
class Done:
    """A step that was run: what it gave or how it failed, and all tables before and after it."""

    step: Step
    operation: Operation
    value: Any
    error: BaseException | None
    before: Rows
    after: Rows

    @property
    def text(self) -> str:
        """What its error says; empty when it has none."""
        return str(self.error) if self.error else ""


@dataclass(frozen=True)
class Result:
    """How a case went. ``reason`` says why it failed, or what of it does not exist yet."""

    case: Case
    status: Status
    reason: str = ""
    seconds: float = 0.0

    @property
    def line(self) -> str:
        """The case on one line."""
        reason = " ".join(self.reason.split())
        if self.status is Status.PASS and reason:
            reason = f"(without {reason})"
        return f"{self.case.id:5} {self.status:18} {self.seconds:4.1f} s  {self.case.title[:60]:60} {reason}".rstrip()


def summary(results: Sequence[Result]) -> list[str]:
    """One line per case, and a last one with the numbers."""
    numbers = ", ".join(f"{sum(item.status is status for item in results)} {status}" for status in Status)
    pooler = "pgbouncer" if PGBOUNCER else "a stand-in, pgbouncer is not installed"
    return [*(result.line for result in results), f"{len(results)} cases: {numbers}; pooler: {pooler}"]

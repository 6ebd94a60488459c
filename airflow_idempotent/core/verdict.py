"""What a check found, and what that means."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

Number = int | float | Decimal


class Severity(StrEnum):
    """``error`` closes the gate, ``warn`` is recorded."""

    WARN = "warn"
    ERROR = "error"


class Verdict(StrEnum):
    """``not_evaluated`` is not ``passed``: there was nothing to look at."""

    PASSED = "passed"
    WARNED = "warned"
    FAILED = "failed"
    NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check's verdict: what was looked at (``rows``), how much of it broke the check, a few examples.

    ``observed`` is a count of violations, or the measured value for checks that compare one, with ``expected``.
    ``samples`` hold key values, never whole rows; ``failures`` are whole ones as JSON, for the ledger alone, where
    ``store_failures`` asks for them. ``query`` measures it again, or finds the violations.
    """

    check: str
    severity: Severity
    verdict: Verdict
    observed: Number | None = None
    rows: int = 0
    message: str = ""
    samples: tuple[str, ...] = field(default=())
    query: str = ""
    expected: Number | None = None
    failures: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_broken(self) -> bool:
        return self.verdict in (Verdict.FAILED, Verdict.WARNED)

    def __str__(self) -> str:
        examples = f", e.g. {', '.join(self.samples)}" if self.samples else ""
        return f"{self.check}: {self.message}{examples}"


def closes_gate(results: tuple[CheckResult, ...]) -> tuple[str, ...]:
    """The failures that forbid publishing, as lines; empty means the gate is open."""
    return tuple(str(result) for result in results if result.verdict is Verdict.FAILED)

"""What every check is: a value that can say what to count, which rows break it, and what that means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict

# A table, or a part of one that is read like a table.
Rows = exp.Table | exp.Subquery


@dataclass(frozen=True, kw_only=True)
class Check(ABC):
    """One assertion about the rows of a partition.

    ``shorthand`` names the field that ``- kind: value`` fills when the value is not a mapping.
    ``counts_rows`` is true of checks that say something of no rows at all.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    kind: ClassVar[str]
    shorthand: ClassVar[str]
    counts_rows: ClassVar[bool] = False
    severity: Severity = field(default=Severity.ERROR)

    @property
    @abstractmethod
    def label(self) -> str:
        """How results name the check: ``unique(order_id)``."""

    @property
    def columns_used(self) -> Sequence[str]:
        """Columns that must exist for the check to make sense."""
        return ()

    def aggregate(self) -> exp.Expr | None:
        """What the shared scan computes for this check; None when it needs a query of its own."""
        return None

    def violations(self, rows: Rows) -> exp.Select | None:
        """The rows that break the check, by their keys; None when single rows cannot."""
        return None

    @abstractmethod
    def judge(self, observed: int | None, rows: int) -> CheckResult:
        """The verdict on what was counted over ``rows`` rows."""

    def result(self, broken: bool, message: str, observed: int | None, rows: int) -> CheckResult:
        verdict = Verdict.PASSED
        if broken:
            verdict = Verdict.FAILED if self.severity is Severity.ERROR else Verdict.WARNED
        return CheckResult(self.label, self.severity, verdict, observed, rows, message)

    def not_evaluated(self, message: str) -> CheckResult:
        """There was nothing to look at, which is not the same as passing."""
        return CheckResult(self.label, self.severity, Verdict.NOT_EVALUATED, None, 0, message)


@dataclass(frozen=True, kw_only=True)
class ColumnsCheck(Check):
    """A check of certain columns, named after them: ``unique(order_id)``.

    Raises:
        ValueError: no column is named.
    """

    shorthand: ClassVar[str] = "columns"
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("name at least one column")

    @property
    def label(self) -> str:
        return f"{self.kind}({', '.join(self.columns)})"

    @property
    def columns_used(self) -> Sequence[str]:
        return self.columns

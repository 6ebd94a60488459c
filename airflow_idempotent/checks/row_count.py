"""row_count: the partition has as many rows as it should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import Check
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class RowCount(Check):
    """Between ``min`` and ``max`` rows, both included; ``equals`` asks for exactly that many.

    Raises:
        ValueError: no bound is given, or ``min`` is above ``max``.
    """

    kind: ClassVar[str] = "row_count"
    shorthand: ClassVar[str] = "equals"
    counts_rows: ClassVar[bool] = True
    min: int | None = None
    max: int | None = None
    equals: int | None = None

    def __post_init__(self) -> None:
        if self.min is None and self.max is None and self.equals is None:
            raise ValueError("give min, max or equals")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")

    @property
    def label(self) -> str:
        bounds = {"min": self.min, "max": self.max, "equals": self.equals}
        return f"row_count({', '.join(f'{name} {value}' for name, value in bounds.items() if value is not None)})"

    def aggregate(self) -> exp.Expr:
        return exp.Count(this=exp.Star())

    def judge(self, observed: int | None, rows: int) -> CheckResult:
        count = rows if observed is None else observed
        broken = (
            (self.equals is not None and count != self.equals)
            or (self.min is not None and count < self.min)
            or (self.max is not None and count > self.max)
        )
        return self.result(broken, f"{count:,} rows", count, rows)

"""null_rate: no more than a share of the rows lacks a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import ColumnsCheck, any_null, count_where
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class NullRate(ColumnsCheck):
    """At most the share ``max`` of the rows (0 to 1) has NULL in any of ``columns``.

    Raises:
        ValueError: no column is named, or ``max`` is no share.
    """

    kind: ClassVar[str] = "null_rate"
    counts_violations: ClassVar[bool] = False
    max: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.max < 1:
            raise ValueError(f"max {self.max:g} is no share below 1: 0.05 allows 5 %")

    @property
    def label(self) -> str:
        return self.named(*self.columns, f"max {self.max:g}")

    def aggregates(self) -> tuple[exp.Expr, ...]:
        return (count_where(any_null(self.columns)),)

    def violations(self, rows: exp.Table | exp.Subquery) -> exp.Select:
        return exp.select("*").from_(rows.copy()).where(any_null(self.columns))

    def examples(self, facts: Facts) -> Sequence[str]:
        return tuple(dict.fromkeys((*facts.unique_key, *self.columns)))

    def judge(self, seen: Seen) -> CheckResult:
        nulls, rate = seen.count(), seen.count() / seen.rows
        message = f"{nulls:,} of {seen.rows:,} rows have NULL, {rate:.2%}"
        return self.result(nulls > self.max * seen.rows, message, rate, seen.rows)

"""range: values lie between two bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import IsNaN, RowsCheck, column, count_where
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult

Bound = int | float | str | date | datetime


@dataclass(frozen=True, kw_only=True)
class Range(RowsCheck):
    """Every value in ``columns`` is at least ``min`` and at most ``max``; with ``exclusive`` strictly between.

    Bounds are compared as the column's type, in the database: ``infinity`` and the year 15000 are values as any
    other. NaN is outside of every range, unless ``allow_nan``; NULL is not judged. Both are told apart in the message.

    Raises:
        ValueError: no column or no bound is given.
    """

    kind: ClassVar[str] = "range"
    min: Bound | None = None
    max: Bound | None = None
    exclusive: bool = False
    allow_nan: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min is None and self.max is None:
            raise ValueError("give min or max")

    @property
    def label(self) -> str:
        words = ("above", "below") if self.exclusive else ("min", "max")
        bounds = [
            f"{word} {value}" for word, value in zip(words, (self.min, self.max), strict=True) if value is not None
        ]
        return self.named(*self.columns, *bounds)

    def broken(self) -> exp.Expr:
        return exp.func("coalesce", exp.or_(*map(self._outside, self.columns)), exp.false())

    def aggregates(self) -> tuple[exp.Expr, ...]:
        """Rows that break it; then those with NaN, and those with NULL."""
        nan = exp.func("coalesce", exp.or_(*(IsNaN(this=column(name)) for name in self.columns)), exp.false())
        null = exp.or_(*(column(name).is_(exp.null()) for name in self.columns))
        return (count_where(self.broken()), count_where(nan), count_where(null))

    def binds(self, facts: Facts) -> Mapping[str, Any]:
        """As text of no type, which PostgreSQL reads as the column's."""
        return {name: str(value) for name, value in (("min", self.min), ("max", self.max)) if value is not None}

    def judge(self, seen: Seen) -> CheckResult:
        outside, nan, null = (seen.count(place) for place in range(3))
        told = [f"{count:,} with {word}" for count, word in ((nan, "NaN"), (null, "NULL")) if count]
        message = f"{outside:,} of {seen.rows:,} rows are outside"
        return self.counted(outside, f"{message}; {', '.join(told)}" if told else message, seen.rows)

    def _outside(self, name: str) -> exp.Expr:
        below, above = (exp.LTE, exp.GTE) if self.exclusive else (exp.LT, exp.GT)
        found: list[exp.Expr] = []
        if self.min is not None:
            found.append(below(this=column(name), expression=exp.Placeholder(this="min")))
        if self.max is not None:
            found.append(above(this=column(name), expression=exp.Placeholder(this="max")))
        is_nan = IsNaN(this=column(name))
        if self.allow_nan:
            return exp.and_(exp.or_(*found), exp.not_(is_nan))
        return exp.or_(*found, is_nan)

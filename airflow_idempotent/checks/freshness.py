"""freshness: the newest row is not too old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlglot import exp

from airflow_idempotent.checks.age import parse_age, spoken
from airflow_idempotent.checks.check import Check, column, count_where
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class Freshness(Check):
    """The newest value of ``column`` is at most ``max_age`` older than the end of the partition, or than the cutoff
    if that was earlier: never than the wall clock, so a backfill of 2019 is as fresh as it was then.

    Values later than the cutoff (or the end of the partition, if that is later) by more than ``skew`` cannot be true:
    they are counted, told, and do not make anything fresh. No value at all fails.

    Raises:
        ValueError: a length of time cannot be read.
    """

    kind: ClassVar[str] = "freshness"
    shorthand: ClassVar[str] = "column"
    counts_violations: ClassVar[bool] = False
    column: str
    max_age: str = "1d"
    skew: str = "5m"

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_age(self.max_age), parse_age(self.skew)

    @property
    def label(self) -> str:
        return self.named(self.column, f"max_age {self.max_age}")

    @property
    def columns_used(self) -> Sequence[str]:
        return tuple(dict.fromkeys((self.column, *super().columns_used)))

    def aggregates(self) -> tuple[exp.Expr, ...]:
        """Rows that are fresh, in the future, without a time; the newest time that can be true, as text."""
        fresh = exp.and_(self._possible(), exp.GTE(this=column(self.column), expression=exp.Placeholder(this="oldest")))
        newest = exp.Filter(this=exp.Max(this=column(self.column)), expression=exp.Where(this=self._possible()))
        return (
            count_where(fresh),
            count_where(self._future()),
            count_where(column(self.column).is_(exp.null())),
            exp.cast(newest, "text"),
        )

    def binds(self, facts: Facts) -> Mapping[str, Any]:
        return {
            "oldest": facts.as_compared(facts.reference - parse_age(self.max_age), self.column),
            "latest": facts.as_compared(facts.horizon + parse_age(self.skew), self.column),
        }

    def judge(self, seen: Seen) -> CheckResult:
        fresh, future, missing = (seen.count(place) for place in range(3))
        newest, reference = seen.values[3], seen.facts.reference
        age = _age(newest, reference)
        told = [f"{future:,} rows lie in the future"] if future else []
        told += [f"{missing:,} have no time"] if missing else []
        if newest is None:
            message = "no value that can be true"
        else:
            old = (
                f", {spoken(reference - _read(newest))} before {reference:%Y-%m-%d %H:%M} UTC"
                if age and age > 0
                else ""
            )
            message = f"newest is {newest}{old}"
        return self.result(not fresh, "; ".join([message, *told]), age, seen.rows)

    def _possible(self) -> exp.Expr:
        return exp.LTE(this=column(self.column), expression=exp.Placeholder(this="latest"))

    def _future(self) -> exp.Expr:
        return exp.GT(this=column(self.column), expression=exp.Placeholder(this="latest"))


def _age(newest: str | None, reference: datetime) -> float | None:
    """Seconds from the newest value to the instant it is compared with; None of what Python cannot read."""
    with suppress(ValueError, OverflowError):
        return (reference - _read(newest)).total_seconds() if newest else None
    return None


def _read(text: str) -> datetime:
    """A time as PostgreSQL prints it, taken for UTC when it has no zone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)

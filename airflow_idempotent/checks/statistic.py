"""statistic: one number of a column lies where it should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Literal

from sqlglot import exp

from airflow_idempotent.checks.check import Check, column
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult, Number

Of = Literal["min", "max", "sum", "avg", "distinct"]
Bound = int | float | str | date | datetime

_BOUNDS: dict[str, tuple[str, type[exp.Binary], int]] = {
    "equal_to": ("=", exp.EQ, 0),
    "greater_than": (">", exp.GT, -1),
    "geq_to": (">=", exp.GTE, -1),
    "less_than": ("<", exp.LT, 1),
    "leq_to": ("<=", exp.LTE, 1),
}
"""What a bound means, and in which direction ``tolerance`` moves it."""


@dataclass(frozen=True, kw_only=True)
class Statistic(Check):
    """``of`` a ``column`` (min, max, sum, avg, or the number of distinct values) is ``equal_to``, ``greater_than``,
    ``geq_to``, ``less_than`` or ``leq_to`` a bound: the words of Airflow's SQLColumnCheckOperator.

    Compared in the database, so a maximum may be ``infinity`` or in the year 15000. ``tolerance`` is the share of a
    bound by which it may be missed. Where every value is NULL the check is not evaluated.

    Raises:
        ValueError: no bound is given, or ``tolerance`` goes with a bound that is no number.
    """

    kind: ClassVar[str] = "statistic"
    shorthand: ClassVar[str] = "column"
    counts_violations: ClassVar[bool] = False
    of: Of
    column: str
    equal_to: Bound | None = None
    greater_than: Bound | None = None
    geq_to: Bound | None = None
    less_than: Bound | None = None
    leq_to: Bound | None = None
    tolerance: float = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bounds:
            raise ValueError(f"give {', '.join(_BOUNDS)}")
        if self.tolerance < 0:
            raise ValueError("tolerance is a share, 0 or more")
        if self.tolerance and not all(isinstance(value, int | float) for value in self.bounds.values()):
            raise ValueError("tolerance is a share, and only of a number")

    @property
    def bounds(self) -> dict[str, Bound]:
        """The bounds that are given."""
        return {name: value for name in _BOUNDS if (value := getattr(self, name)) is not None}

    @property
    def label(self) -> str:
        told = [f"{_BOUNDS[name][0]} {value}" for name, value in self.bounds.items()]
        told += [f"tolerance {self.tolerance:g}"] if self.tolerance else []
        return self.named(f"{self.of} {self.column}", *told)

    @property
    def columns_used(self) -> Sequence[str]:
        return tuple(dict.fromkeys((self.column, *super().columns_used)))

    def aggregates(self) -> tuple[exp.Expr, ...]:
        """The number as text, since no driver reads every time; then whether each bound is kept."""
        kept = [
            sign(this=self._measured(), expression=exp.Placeholder(this=place))
            for name in self.bounds
            for place, sign in self._comparisons(name)
        ]
        return (exp.cast(self._measured(), "text"), exp.and_(*kept))

    def binds(self, facts: Facts) -> Mapping[str, Any]:
        values: dict[str, Any] = {}
        for name, bound in self.bounds.items():
            for place, _ in self._comparisons(name):
                way = -1 if place.endswith("_low") else 1 if place.endswith("_high") else _BOUNDS[name][2]
                values[place] = self._moved(bound, way)
        return values

    def judge(self, seen: Seen) -> CheckResult:
        text, kept = seen.values
        if text is None:
            return self.not_evaluated(f"every {self.column} is NULL")
        return self.result(not kept, f"{self.of} is {text}", _number(text), seen.rows)

    def _measured(self) -> exp.Expr:
        this = column(self.column)
        match self.of:
            case "min":
                return exp.Min(this=this)
            case "max":
                return exp.Max(this=this)
            case "sum":
                return exp.Sum(this=this)
            case "avg":
                return exp.Avg(this=this)
            case "distinct":
                return exp.Count(this=exp.Distinct(expressions=[this]))

    def _comparisons(self, name: str) -> list[tuple[str, type[exp.Binary]]]:
        """The placeholders of a bound: one, or two where a tolerance makes a range of one value."""
        if name == "equal_to" and self.tolerance:
            return [("equal_to_low", exp.GTE), ("equal_to_high", exp.LTE)]
        return [(name, _BOUNDS[name][1])]

    def _moved(self, bound: Bound, way: int) -> Any:
        """A bound as it is compared: a number moved by the tolerance, anything else as text of no type."""
        if not isinstance(bound, int | float):
            return str(bound)
        exact = Decimal(str(bound))
        return str(exact + way * abs(exact) * Decimal(str(self.tolerance))) if self.tolerance else str(bound)


def _number(text: str) -> Number | None:
    with suppress(InvalidOperation):
        found = Decimal(text)
        return int(found) if found.is_finite() and found == found.to_integral_value() else found
    return None

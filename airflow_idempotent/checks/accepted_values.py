"""accepted_values: a column holds nothing but the values listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import RowsCheck, column
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class AcceptedValues(RowsCheck):
    """Every value in ``columns`` is one of ``values``, or NULL, which is for ``not_null`` to judge.

    Values are compared as the column's type, so ``1`` and ``"1"`` are the same here.

    Raises:
        ValueError: no column or no value is given.
    """

    kind: ClassVar[str] = "accepted_values"
    values: tuple[str | bool | int | float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.values:
            raise ValueError("values: name at least one")

    def broken(self) -> exp.Expr:
        listed = [exp.Placeholder(this=f"value{number}") for number in range(len(self.values))]
        outside = (
            exp.not_(exp.In(this=column(name), expressions=[item.copy() for item in listed])) for name in self.columns
        )
        return exp.func("coalesce", exp.Paren(this=exp.or_(*outside)), exp.false())

    def binds(self, facts: Facts) -> Mapping[str, Any]:
        """As text of no type, which PostgreSQL reads as the column's."""
        return {f"value{number}": str(value) for number, value in enumerate(self.values)}

    def judge(self, seen: Seen) -> CheckResult:
        return self.counted(seen.count(), f"{seen.count():,} of {seen.rows:,} rows have another value", seen.rows)

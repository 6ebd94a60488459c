"""not_null: the columns are filled in every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import ColumnsCheck, Rows
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class NotNull(ColumnsCheck):
    """No row has NULL in any of ``columns``.

    Raises:
        ValueError: no column is named.
    """

    kind: ClassVar[str] = "not_null"

    def _broken(self) -> exp.Expr:
        return exp.or_(*(exp.column(name, quoted=True).is_(exp.null()) for name in self.columns))

    def aggregate(self) -> exp.Expr:
        return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=self._broken()))

    def violations(self, rows: Rows) -> exp.Select:
        return exp.select(*(exp.column(name, quoted=True) for name in self.columns)).from_(rows).where(self._broken())

    def judge(self, observed: int | None, rows: int) -> CheckResult:
        count = observed or 0
        return self.result(count > 0, f"{count:,} of {rows:,} rows have NULL", count, rows)

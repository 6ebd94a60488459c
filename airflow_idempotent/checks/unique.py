"""unique: no two rows share the columns; NULLs count as equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import ColumnsCheck, Rows
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class Unique(ColumnsCheck):
    """No two rows have the same values in ``columns``.

    NULLs are equal here, as in GROUP BY and unlike in a UNIQUE constraint: ``(1, NULL)`` twice
    would be two rows of one merge key.

    Raises:
        ValueError: no column is named.
    """

    kind: ClassVar[str] = "unique"

    def violations(self, rows: Rows) -> exp.Select:
        columns = [exp.column(name, quoted=True) for name in self.columns]
        return exp.select(*columns).from_(rows).group_by(*columns).having(exp.Count(this=exp.Star()) > 1)

    def judge(self, observed: int | None, rows: int) -> CheckResult:
        count = observed or 0
        return self.result(count > 0, f"{count:,} keys repeated", count, rows)

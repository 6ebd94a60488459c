"""not_null: the columns are filled in every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import RowsCheck, any_null
from airflow_idempotent.checks.facts import Seen
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class NotNull(RowsCheck):
    """No row has NULL in any of ``columns``.

    Raises:
        ValueError: no column is named.
    """

    kind: ClassVar[str] = "not_null"

    def broken(self) -> exp.Expr:
        return any_null(self.columns)

    def judge(self, seen: Seen) -> CheckResult:
        return self.counted(seen.count(), f"{seen.count():,} of {seen.rows:,} rows have NULL", seen.rows)

"""unique: no two rows share the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import ColumnsCheck, Rows, any_null, column
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class Unique(ColumnsCheck):
    """No two rows have the same values in ``columns``.

    NULLs are equal here, as in GROUP BY: ``(1, NULL)`` twice would be two rows of one merge key. With
    ``nulls_distinct`` a key that holds NULL never repeats, as in a UNIQUE constraint. What an index of the table
    keeps unique, or removal of duplicates has just made so, is not counted again.

    Raises:
        ValueError: no column is named.
    """

    kind: ClassVar[str] = "unique"
    nulls_distinct: bool = False

    @property
    def label(self) -> str:
        return self.named(*self.columns, *(("nulls distinct",) if self.nulls_distinct else ()))

    @property
    def distinct(self) -> tuple[str, ...]:
        return self.columns

    def violations(self, rows: Rows) -> exp.Select:
        keys = [column(name) for name in self.columns]
        times = exp.alias_(exp.Count(this=exp.Star()), "rows", quoted=True)
        found = exp.select(*keys, times).from_(rows.copy()).group_by(*keys).having(exp.Count(this=exp.Star()) > 1)
        return found.where(exp.not_(exp.Paren(this=any_null(self.columns)))) if self.nulls_distinct else found

    def examples(self, facts: Facts) -> tuple[str, ...]:
        return self.columns

    def judge(self, seen: Seen) -> CheckResult:
        """``seen`` has the keys that repeat, and those of them that hold NULL."""
        repeated, with_null = seen.count(0), seen.count(1)
        if self.nulls_distinct:
            repeated, with_null = repeated - with_null, 0
        told = f", {with_null:,} of them with NULL" if with_null else ""
        return self.counted(repeated, f"{repeated:,} keys repeated{told}", seen.rows)

    def proven(self, rows: int, by: str) -> CheckResult:
        """The verdict where it cannot be otherwise."""
        return self.counted(0, f"0 keys repeated: {by}", rows)

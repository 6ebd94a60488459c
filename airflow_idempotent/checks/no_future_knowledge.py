"""no_future_knowledge: no row rests on anything that was known only later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import RowsCheck, any_null, column, count_where
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult

MOMENTS = ("cutoff", "partition_end")


@dataclass(frozen=True, kw_only=True)
class NoFutureKnowledge(RowsCheck):
    """Every instant in ``columns``, when something became known, is not after ``as_of``.

    ``as_of`` is a column of the row, or ``partition_end`` (which itself is too late, as everywhere), or ``cutoff``,
    the instant that was pinned for the run. A row that does not say when it was known proves nothing and breaks the
    check, unless ``allow_nulls``; one without as-of always does.

    Raises:
        ValueError: no column is named.
    """

    kind: ClassVar[str] = "no_future_knowledge"
    as_of: str = "partition_end"
    allow_nulls: bool = False

    @property
    def label(self) -> str:
        return self.named(*self.columns, f"as of {self.as_of}")

    @property
    def columns_used(self) -> Sequence[str]:
        moment = () if self.as_of in MOMENTS else (self.as_of,)
        return tuple(dict.fromkeys((*self.columns, *moment, *super().columns_used)))

    def broken(self) -> exp.Expr:
        return exp.not_(exp.and_(*(self._fine(name) for name in self.columns)))

    def aggregates(self) -> tuple[exp.Expr, ...]:
        unknown = any_null(self.columns)
        undated = exp.false() if self.as_of in MOMENTS else column(self.as_of).is_(exp.null())
        told = exp.not_(exp.Paren(this=exp.or_(unknown.copy(), undated.copy())))
        later = exp.and_(told, self.broken())
        return (*super().aggregates(), count_where(later), count_where(unknown), count_where(undated))

    def binds(self, facts: Facts) -> Mapping[str, Any]:
        if self.as_of not in MOMENTS:
            return {}
        moment = facts.partition.end if self.as_of == "partition_end" else facts.cutoff
        return {
            f"as_of_{n}": None if moment is None else facts.as_compared(moment, name)
            for n, name in enumerate(self.columns)
        }

    def examples(self, facts: Facts) -> Sequence[str]:
        moment = () if self.as_of in MOMENTS else (self.as_of,)
        return tuple(dict.fromkeys((*super().examples(facts), *moment)))

    def judge(self, seen: Seen) -> CheckResult:
        if self.as_of == "cutoff" and seen.facts.cutoff is None:
            return self.not_evaluated("no cutoff was pinned for this batch, write as_of: partition_end or a column")
        broken, later, unknown, undated = (seen.count(place) for place in range(4))
        told = [f"{later:,} of {seen.rows:,} rows know what came after {self.as_of}"]
        if unknown:
            told.append(f"{unknown:,} do not say when they were known" + (" (allowed)" if self.allow_nulls else ""))
        if undated:
            told.append(f"{undated:,} have no {self.as_of}")
        return self.counted(broken, ", ".join(told), seen.rows)

    def _fine(self, name: str) -> exp.Expr:
        """True of a row whose instant is early enough; false, never NULL, of any other."""
        if self.as_of in MOMENTS:
            moment: exp.Expr = exp.Placeholder(this=f"as_of_{self.columns.index(name)}")
        else:
            moment = column(self.as_of)
        compare = exp.LT if self.as_of == "partition_end" else exp.LTE
        early = exp.func("coalesce", compare(this=column(name), expression=moment), exp.false())
        if not self.allow_nulls:
            return early
        given = exp.true() if self.as_of in MOMENTS else exp.not_(column(self.as_of).is_(exp.null()))
        return exp.Paren(this=exp.or_(early, exp.and_(column(name).is_(exp.null()), given)))

"""aggregate: a number computed from the partition agrees with the same number of something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlglot import exp

from airflow_idempotent.checks.against import (
    EARLIER,
    NotComparable,
    absent,
    baseline,
    is_table,
    needed,
    other_table,
    rows_of,
    shape_of,
)
from airflow_idempotent.checks.check import Check, Inquiry, Question, Rows
from airflow_idempotent.checks.expression import as_number, columns_of_aggregate, parsed_aggregate
from airflow_idempotent.checks.facts import Need, Seen, plain
from airflow_idempotent.core.verdict import CheckResult, Number


@dataclass(frozen=True, kw_only=True)
class Aggregate(Check):
    """``sql``, one aggregate expression, gives about the same number ``against`` something else.

    ``source`` is the batch as it landed, before duplicates are removed; ``manifest`` what it promises, which is only
    ``count(*)``; ``previous`` the partition's last publication of other content, ``same_weekday`` the same partition
    one to four weeks earlier, backfills left out; ``schema.table`` another table, of which the same partition is
    read. The numbers may differ by ``tolerance``, a share of the other one, or by ``absolute_tolerance``.

    Raises:
        ValueError: it is no aggregate, or there is nothing to compare it with.
    """

    kind: ClassVar[str] = "aggregate"
    shorthand: ClassVar[str] = "sql"
    counts_violations: ClassVar[bool] = False
    sql: str
    against: str = "source"
    tolerance: float = 0
    absolute_tolerance: float = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        tree = parsed_aggregate(self.sql)
        known = ("source", "manifest", *EARLIER)
        if self.against not in known:
            if not is_table(self.against):
                raise ValueError(
                    f"against is {self.against!r}: write {', '.join(known)}, or a table like 'sales.orders'"
                )
            other_table(self.against)
        counts_all = isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star)
        if self.against == "manifest" and (not counts_all or self.where):
            raise ValueError("against manifest: a manifest knows only how many rows there are, write 'count(*)'")
        if self.tolerance < 0 or self.absolute_tolerance < 0:
            raise ValueError("tolerance is 0 or more")

    @property
    def label(self) -> str:
        return self.named(" ".join(self.sql.split()), f"against {self.against}")

    @property
    def columns_used(self) -> Sequence[str]:
        return tuple(dict.fromkeys((*columns_of_aggregate(self.sql), *super().columns_used)))

    @property
    def needs(self) -> frozenset[Need]:
        return needed(self.against)

    @property
    def tables_used(self) -> tuple[str, ...]:
        return (other_table(self.against),) if is_table(self.against) else ()

    def aggregates(self) -> tuple[exp.Expr, ...]:
        return (as_number(self.sql),)

    def inquire(self, rows: Rows, seen: Seen) -> Inquiry | None:
        if is_table(self.against):
            return self._of_other_table(seen)
        if self.against == "source" and seen.facts.source is not None:
            return self._of_source(seen.facts.source, seen)
        return None

    def _of_source(self, source: Rows, seen: Seen) -> Inquiry:
        """Compare with the rows as they came."""
        [(value,)] = yield Question(exp.select(as_number(self.sql)).from_(source.copy()), lasting=False)
        return self._compared(seen, value, "the batch as it landed")

    def _of_other_table(self, seen: Seen) -> Inquiry:
        """Compare with the same partition of another table."""
        try:
            rows, binds = rows_of(shape_of(self.against, seen.facts), seen.facts, self.where)
        except NotComparable as reason:
            return self.result(True, f"not compared: {reason}", _number(seen.values[0]), seen.rows)
        [(value,)] = yield Question(exp.select(as_number(self.sql)).from_(rows), binds)
        return self._compared(seen, value, other_table(self.against))

    def judge(self, seen: Seen) -> CheckResult:
        # What it is now is kept even if there is nothing to compare with yet: later publications will have that.
        return replace(self._judged(seen), observed=_number(seen.values[0]), rows=seen.rows)

    def _judged(self, seen: Seen) -> CheckResult:
        facts = seen.facts
        if self.against == "manifest":
            if facts.landed_rows is None:
                return self.not_evaluated("how many rows landed is not known")
            return self._compared(seen, facts.landed_rows, "the manifest")
        if self.against == "source":
            return self._against_recorded(seen)
        earlier = baseline(self.against, facts)
        if earlier is None:
            return self.not_evaluated(absent(self.against))
        if self.label not in earlier.observed:
            return self.not_evaluated(f"{earlier} was published before this check was asked for")
        return self._compared(seen, earlier.observed[self.label], str(earlier))

    def _against_recorded(self, seen: Seen) -> CheckResult:
        """After the load: the batch is not at hand any more, what it gave is in the ledger."""
        recorded = seen.facts.loaded
        if recorded is None or self.label not in recorded.expected:
            return self.not_evaluated("what the batch gave as it landed is not in the ledger")
        if not recorded.is_all:
            return self.not_evaluated("the partition holds rows of other batches, too")
        return self._compared(seen, recorded.expected[self.label], "the batch as it landed")

    def _compared(self, seen: Seen, other: Any, name: str) -> CheckResult:
        mine, others = _number(seen.values[0]), _number(other)
        message = f"{_shown(mine)} here, {_shown(others)} in {name}"
        if mine is None or others is None:
            found = self.result(mine is not others, message, mine, seen.rows)
        else:
            broken = not _near(float(mine), float(others), mine == others, self.tolerance, self.absolute_tolerance)
            if mine != others:
                message += f", {_apart(float(mine), float(others))}"
            found = self.result(broken, message, mine, seen.rows)
        return replace(found, expected=others)


def _number(value: Any) -> Number | None:
    return None if value is None else plain(value)


def _near(mine: float, others: float, equal: bool, share: float, absolute: float) -> bool:
    """Whether two numbers are the same, or as near as is allowed; NaN is near nothing but NaN."""
    if equal or (mine != mine and others != others):
        return True
    return abs(mine - others) <= max(share * abs(others), absolute)


def _apart(mine: float, others: float) -> str:
    return f"{(mine - others) / abs(others):+.3%}" if others else f"{mine - others:+,g}"


def _shown(value: Number | None) -> str:
    return "NULL" if value is None else f"{value:,}"

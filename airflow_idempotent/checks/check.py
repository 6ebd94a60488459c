"""What every check is: a value that can say what to count, which rows break it, and what that means."""

from __future__ import annotations

from abc import ABC
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlglot import exp

from airflow_idempotent.checks.condition import columns_in
from airflow_idempotent.checks.facts import Facts, Need, Seen
from airflow_idempotent.checks.threshold import Threshold
from airflow_idempotent.core.verdict import CheckResult, Number, Severity, Verdict

# A table, or a part of one that is read like a table.
Rows = exp.Table | exp.Subquery

STORED_ROWS = 100
MOST_STORED_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Question:
    """A query that a check asks besides the shared scans, with the values of its placeholders.

    ``query`` is a tree; text of the user goes into it as ``UserSql``. Placeholders are named without a prefix
    (``exp.Placeholder(this="as_of")``); ``start`` and ``end`` are taken by the rows of the partition.
    What is asked of rows that are gone after the load is not ``lasting``, and not shown to people.
    """

    query: exp.Query
    binds: Mapping[str, Any] = field(default_factory=dict)
    lasting: bool = True


class IsNaN(exp.Expression):
    """Whether a column holds NaN; false of the types that have none."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


Answer = list[tuple[Any, ...]]
Inquiry = Generator[Question, Answer, CheckResult]
"""Yields questions, is sent the rows of each, and returns the verdict."""


@dataclass(frozen=True, slots=True)
class StoreFailures:
    """At most ``limit`` of the rows that break a check are kept.

    Raises:
        ValueError: there would be too many.
    """

    limit: int = STORED_ROWS

    def __post_init__(self) -> None:
        if not 0 < self.limit <= MOST_STORED_ROWS:
            raise ValueError(f"limit is {self.limit:,}: keep 1 to {MOST_STORED_ROWS:,} rows")


@dataclass(frozen=True, kw_only=True)
class Check(ABC):
    """One assertion about the rows of a partition.

    A check is answered in one of three ways: by ``aggregates`` that share one scan with all other checks, by being
    ``distinct`` in a key, which shares a second one, or by ``inquire``, which asks queries of its own.

    ``shorthand`` names the field that ``- kind: value`` fills when the value is not a mapping.
    ``counts_rows`` is true of checks that say something of no rows at all; ``counts_violations`` of those that
    count what breaks them, so that thresholds make sense.

    Raises:
        ValueError: the options make no sense.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    kind: ClassVar[str]
    shorthand: ClassVar[str]
    counts_rows: ClassVar[bool] = False
    counts_violations: ClassVar[bool] = True
    severity: Severity = field(default=Severity.ERROR)
    warn_if: str | None = None
    error_if: str | None = None
    where: str | None = None
    store_failures: bool | StoreFailures = False

    def __post_init__(self) -> None:
        for name in ("warn_if", "error_if"):
            if (text := getattr(self, name)) is None:
                continue
            Threshold.parse(text)
            if not self.counts_violations:
                raise ValueError(f"{name} counts violations, and {self.kind} has none: use its own bounds and severity")
        if self.error_if and self.severity is Severity.WARN:
            raise ValueError("error_if never applies with severity warn")
        if self.where is not None:
            columns_in(self.where)
        if self.store_failures and type(self).violations is Check.violations:
            raise ValueError(f"store_failures: no single row breaks a {self.kind}")

    @property
    def label(self) -> str:
        """How results name the check: ``unique(order_id)``. Equal checks of two releases have equal labels."""
        return self.named()

    def named(self, *options: str) -> str:
        """The kind with its options, and the condition."""
        inside = ", ".join(options)
        where = f" where {' '.join(self.where.split())}" if self.where else ""
        return f"{self.kind}({inside}){where}" if inside else f"{self.kind}{where}"

    @property
    def columns_used(self) -> Sequence[str]:
        """Columns that must exist for the check to make sense."""
        return columns_in(self.where) if self.where else ()

    @property
    def needs(self) -> frozenset[Need]:
        """What has to be looked up before it can judge."""
        return frozenset()

    @property
    def tables_used(self) -> tuple[str, ...]:
        """Other tables that it reads."""
        return ()

    @property
    def partitions_used(self) -> tuple[str, ...]:
        """Keys of other partitions whose publications it compares with."""
        return ()

    @property
    def stored_rows(self) -> int:
        """How many of the rows that break it are kept."""
        if isinstance(self.store_failures, StoreFailures):
            return self.store_failures.limit
        return STORED_ROWS if self.store_failures else 0

    # --- what is asked of the database ---------------------------------------------------------------

    def aggregates(self) -> tuple[exp.Expr, ...]:
        """What the shared scan computes for this check, ``where`` left out: it is added for every aggregate."""
        return ()

    def binds(self, facts: Facts) -> Mapping[str, Any]:
        """The values of the placeholders in its aggregates and violations."""
        return {}

    @property
    def distinct(self) -> tuple[str, ...]:
        """Columns that no two rows may share; the second shared scan then counts the keys that repeat."""
        return ()

    def inquire(self, rows: Rows, seen: Seen) -> Inquiry | None:
        """Questions of its own about ``rows`` (those that ``where`` lets through); None when it has none.

        ``seen`` has their number and the facts, and what the shared scan gave for its ``aggregates``.
        """
        return None

    def violations(self, rows: Rows) -> exp.Select | None:
        """The rows that break the check; None when single rows cannot. ``where`` is applied to ``rows`` already."""
        return None

    def examples(self, facts: Facts) -> Sequence[str]:
        """Columns of ``violations`` that messages show; empty for all."""
        return ()

    # --- what that means ------------------------------------------------------------------------------

    def judge(self, seen: Seen) -> CheckResult:
        """The verdict on what the shared scans saw."""
        raise NotImplementedError(f"{self.kind} is answered by its own queries")

    def counted(self, violations: int, message: str, rows: int, observed: Number | None = None) -> CheckResult:
        """The verdict on a number of violations, by the thresholds; ``observed`` when something else was measured."""
        verdict = Verdict.PASSED
        if self.severity is Severity.ERROR and Threshold.parse(self.error_if or "!=0").reached(violations, rows):
            verdict = Verdict.FAILED
        elif Threshold.parse(self.warn_if or "!=0").reached(violations, rows):
            verdict = Verdict.WARNED
        found = violations if observed is None else observed
        return CheckResult(self.label, self.severity, verdict, found, rows, message)

    def result(self, broken: bool, message: str, observed: Number | None, rows: int) -> CheckResult:
        """The verdict on something that is measured, not counted."""
        verdict = Verdict.PASSED
        if broken:
            verdict = Verdict.FAILED if self.severity is Severity.ERROR else Verdict.WARNED
        return CheckResult(self.label, self.severity, verdict, observed, rows, message)

    def not_evaluated(self, message: str) -> CheckResult:
        """There was nothing to look at, which is not the same as passing."""
        return CheckResult(self.label, self.severity, Verdict.NOT_EVALUATED, None, 0, message)


@dataclass(frozen=True, kw_only=True)
class ColumnsCheck(Check):
    """A check of certain columns, named after them: ``unique(order_id)``.

    Raises:
        ValueError: no column is named.
    """

    shorthand: ClassVar[str] = "columns"
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise ValueError("name at least one column")

    @property
    def label(self) -> str:
        return self.named(*self.columns)

    @property
    def columns_used(self) -> Sequence[str]:
        return tuple(dict.fromkeys((*self.columns, *super().columns_used)))


@dataclass(frozen=True, kw_only=True)
class RowsCheck(ColumnsCheck):
    """A check that each row passes or breaks by itself."""

    def broken(self) -> exp.Expr:
        """True of a row that breaks it; not NULL for any row."""
        raise NotImplementedError

    def aggregates(self) -> tuple[exp.Expr, ...]:
        return (count_where(self.broken()),)

    def violations(self, rows: Rows) -> exp.Select:
        return exp.select("*").from_(rows.copy()).where(self.broken())

    def examples(self, facts: Facts) -> Sequence[str]:
        return tuple(dict.fromkeys((*facts.unique_key, *self.columns)))


def count_where(condition: exp.Expr) -> exp.Expr:
    """``count(*) FILTER (WHERE condition)``."""
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition))


def column(name: str) -> exp.Column:
    """A quoted column."""
    return exp.column(name, quoted=True)


def any_null(names: Sequence[str]) -> exp.Expr:
    """Whether any of the columns is NULL."""
    return exp.or_(*(column(name).is_(exp.null()) for name in names))

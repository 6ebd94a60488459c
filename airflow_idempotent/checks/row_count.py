"""row_count: the partition has as many rows as it should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from sqlglot import exp

from airflow_idempotent.checks.check import Check
from airflow_idempotent.checks.facts import Facts, Need, Seen
from airflow_idempotent.core.verdict import CheckResult

Against = Literal["manifest", "previous", "same_weekday"]


@dataclass(frozen=True, kw_only=True)
class RowCount(Check):
    """Between ``min`` and ``max`` rows, both included; ``equals`` asks for exactly that many.

    ``against`` compares with the rows that landed (``manifest``), with the partition's last publication of other
    content (``previous``) or with the same partition a week earlier (``same_weekday``, one to four weeks);
    ``tolerance`` is the share by which the counts may differ. Publications by a backfill are never compared with;
    where there is none the check is not evaluated.

    Raises:
        ValueError: no bound is given, ``min`` is above ``max``, or ``tolerance`` has nothing to apply to.
    """

    kind: ClassVar[str] = "row_count"
    shorthand: ClassVar[str] = "equals"
    counts_rows: ClassVar[bool] = True
    counts_violations: ClassVar[bool] = False
    min: int | None = None
    max: int | None = None
    equals: int | None = None
    against: Against | None = None
    tolerance: float = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min is None and self.max is None and self.equals is None and self.against is None:
            raise ValueError("give min, max, equals or against")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        if self.tolerance < 0 or (self.tolerance and self.against is None and self.equals is None):
            raise ValueError("tolerance is a share, 0 or more, and goes with equals or against")
        if self.against and self.where:
            raise ValueError("where: nobody has counted such rows before, so there is nothing to compare them with")

    @property
    def label(self) -> str:
        bounds = {"min": self.min, "max": self.max, "equals": self.equals, "against": self.against}
        told = [f"{name} {value}" for name, value in bounds.items() if value is not None]
        return self.named(*told, *([f"tolerance {self.tolerance:g}"] if self.tolerance else []))

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset((Need(self.against),)) if self.against in ("previous", "same_weekday") else frozenset()

    def aggregates(self) -> tuple[exp.Expr, ...]:
        return (exp.Count(this=exp.Star()),)

    def judge(self, seen: Seen) -> CheckResult:
        count, message = seen.count(), f"{seen.count():,} rows"
        broken = (
            (self.equals is not None and not self._near(count, self.equals))
            or (self.min is not None and count < self.min)
            or (self.max is not None and count > self.max)
        )
        if self.against:
            other, of = self._other(seen.facts)
            if other is None and not broken:
                return self.not_evaluated(f"{count:,} rows, {of}")
            if other is not None:
                broken, message = broken or not self._near(count, other), f"{message}, {other:,} in {of}"
        return self.result(broken, message, count, count)

    def _near(self, count: int, other: int) -> bool:
        return abs(count - other) <= other * self.tolerance

    def _other(self, facts: Facts) -> tuple[int | None, str]:
        """The count to compare with, and whose it is; or why there is none."""
        if self.against == "manifest":
            return facts.landed_rows, "the manifest" if facts.landed_rows is not None else "no batch to compare with"
        found = facts.previous if self.against == "previous" else facts.same_weekday
        if found is None or found.rows is None:
            when = "version of it" if self.against == "previous" else "same weekday in four weeks"
            return None, f"no earlier {when} was published by the schedule or by hand to compare with"
        return found.rows, str(found)

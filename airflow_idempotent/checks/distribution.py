"""distribution: the values of columns are spread as they were before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Literal

from airflow_idempotent.checks.against import EARLIER, absent, baseline, needed
from airflow_idempotent.checks.check import ColumnsCheck, Inquiry, Question, Rows
from airflow_idempotent.checks.facts import Baseline, Facts, Need, Seen
from airflow_idempotent.checks.histograms import count_in_bins
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.profile import ColumnProfile, Profile, Sampling, is_measured
from airflow_idempotent.core.statistics import chi_square, grouped, kolmogorov_smirnov, psi
from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict

Method = Literal["psi", "chi_square", "ks"]
MOST_BINS = 19
USUAL = {"psi": (0.1, 0.25), "chi_square": (0.05, 0.001), "ks": (0.05, 0.001)}
"""Where a method warns and where it fails: PSI from that value on, the others below that p value."""


@dataclass(frozen=True, kw_only=True)
class Distribution(ColumnsCheck):
    """Each of ``columns`` has about the distribution and the share of NULLs that it had in an earlier publication.

    ``against`` is ``previous``, ``same_weekday``, or the key of a partition. ``method`` is ``psi``, ``chi_square``, or
    ``ks`` (numbers and times only); ``warn_at`` and ``error_at`` are bounds of PSI, or of the p value of the others.
    ``null_rate`` is by how much the share of NULLs may change. All is counted in the same ``sample`` rows each time;
    fewer than ``min_rows`` on either side are too few to tell.

    Raises:
        ValueError: bounds contradict each other.
    """

    kind: ClassVar[str] = "distribution"
    counts_violations: ClassVar[bool] = False
    against: str | date = "previous"
    method: Method = "psi"
    warn_at: float | None = None
    error_at: float | None = None
    null_rate: float = 0.1
    sample: int = 10_000
    min_rows: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compared_with not in EARLIER and not _is_key(self.compared_with):
            raise ValueError(
                f"against is {self.against!r}: write {', '.join(EARLIER)}, or a partition like '2025-05-01'"
            )
        if not 100 <= self.sample <= 1_000_000:
            raise ValueError("sample is 100 to 1,000,000 rows")
        if not 0 <= self.null_rate <= 1:
            raise ValueError("null_rate is a share, 0 to 1")
        warn, error = self.bounds
        if warn < 0 or error < 0 or (warn > error if self.method == "psi" else warn < error):
            order = "at or below" if self.method == "psi" else "at or above"
            raise ValueError(f"{self.method} warns {order} where it fails, not at {warn:g} and {error:g}")
        if self.where:
            raise ValueError(
                "where: nobody has kept the distribution of such rows, so there is nothing to compare with"
            )

    @property
    def compared_with(self) -> str:
        """``against`` as text: YAML takes the key of a day for a date."""
        return str(self.against)

    @property
    def bounds(self) -> tuple[float, float]:
        """Where it warns, and where it fails."""
        usual = USUAL[self.method]
        return (
            usual[0] if self.warn_at is None else self.warn_at,
            usual[1] if self.error_at is None else self.error_at,
        )

    @property
    def label(self) -> str:
        return self.named(*self.columns, f"{self.method} against {self.compared_with}")

    @property
    def needs(self) -> frozenset[Need]:
        found = {Need.PROFILE}
        return frozenset(found | {*needed(self.compared_with)})

    @property
    def partitions_used(self) -> tuple[str, ...]:
        """Keys of partitions whose publications it compares with."""
        return () if self.compared_with in EARLIER else (self.compared_with,)

    def inquire(self, rows: Rows, seen: Seen) -> Inquiry | None:
        found, shape = self._baseline(seen.facts), seen.facts.shape
        if self.method == "ks" and not all(is_measured(shape[name]) for name in self.columns):
            return None
        if found is None or self._untold(found, seen):
            return None
        return self._ask(rows, seen, found)

    def _ask(self, rows: Rows, seen: Seen, earlier: Baseline) -> Inquiry:
        facts, before = seen.facts, _profile(earlier)
        columns = [facts.shape[name] for name in self.columns]
        sampling = Sampling.of(facts.unique_key, self.sample, facts.name, facts.partition.key, facts.batch_id)
        found = yield Question(*count_in_bins(rows, columns, facts.shape, sampling, seen.rows, before))
        now = Profile.read(found, {item.name: is_measured(item) for item in columns}, before)
        return self.compared(before, now, seen.rows, str(earlier))

    def judge(self, seen: Seen) -> CheckResult:
        """Why there is nothing to compare with."""
        unordered = [name for name in self.columns if not is_measured(seen.facts.shape[name])]
        if self.method == "ks" and unordered:
            return self.result(
                True, f"not compared: {unordered[0]} has no order, use psi or chi_square", None, seen.rows
            )
        found = self._baseline(seen.facts)
        if found is None and self.compared_with not in EARLIER:
            return self.not_evaluated(f"partition {self.compared_with} has no publication (backfills are none)")
        return self.not_evaluated(absent(self.compared_with) if found is None else self._untold(found, seen))

    def compared(self, before: Profile, now: Profile, rows: int, name: str) -> CheckResult:
        """The verdict on two profiles that were counted in the same bins."""
        told, worst, verdict = [], 0.0 if self.method == "psi" else 1.0, Verdict.PASSED
        for column in self.columns:
            for text, level, value in self._of_column(column, before.columns[column], now.columns[column]):
                told.append(text)
                verdict = max(verdict, level, key=_GRAVITY.index)
                if value is not None:
                    worst = max(worst, value) if self.method == "psi" else min(worst, value)
        if verdict is Verdict.FAILED and self.severity is not Severity.ERROR:
            verdict = Verdict.WARNED
        message = f"compared with {name}: {'; '.join(told)}"
        return CheckResult(self.label, self.severity, verdict, worst, rows, message)

    def _of_column(
        self, name: str, before: ColumnProfile, now: ColumnProfile
    ) -> Iterator[tuple[str, Verdict, float | None]]:
        """What is to be said of one column: text, how bad that is, the measure."""
        if abs(now.null_rate - before.null_rate) > self.null_rate:
            change = f"{before.null_rate:.1%} to {now.null_rate:.1%}"
            yield f"{name} NULL in {change} of the rows (more than {self.null_rate:.1%} apart)", Verdict.FAILED, None
        if not (any(before.spread) and any(now.spread)):
            yield f"{name} has no values to compare", Verdict.PASSED, None
            return
        text, value = _MEASURES[self.method](before, now)
        level = self._level(value)
        bound = {Verdict.FAILED: f" (fails at {self.bounds[1]:g})", Verdict.WARNED: f" (warns at {self.bounds[0]:g})"}
        yield f"{name} {text}{bound.get(level, '')}", level, value

    def _level(self, value: float) -> Verdict:
        warn, error = self.bounds
        beyond = (value >= error, value >= warn) if self.method == "psi" else (value < error, value < warn)
        return Verdict.FAILED if beyond[0] else Verdict.WARNED if beyond[1] else Verdict.PASSED

    def _baseline(self, facts: Facts) -> Baseline | None:
        against = self.compared_with
        return baseline(against, facts) if against in EARLIER else facts.partitions.get(against)

    def _untold(self, earlier: Baseline, seen: Seen) -> str:
        """Why this baseline cannot be compared with; empty when it can."""
        kept = earlier.profile.columns if earlier.profile else {}
        shape = seen.facts.shape
        if missing := [name for name in self.columns if name not in kept]:
            return f"{earlier} was published before the distribution of {missing[0]} was kept"
        if changed := [name for name in self.columns if kept[name].measured != is_measured(shape[name])]:
            return f"{changed[0]} had a type of another kind in {earlier}"
        fewest = min(seen.rows, *(kept[name].rows for name in self.columns))
        return f"{fewest:,} rows are too few to tell (min_rows {self.min_rows:,})" if fewest < self.min_rows else ""


_GRAVITY = [Verdict.PASSED, Verdict.WARNED, Verdict.FAILED]


def _is_key(text: str) -> bool:
    """Whether it is the key of a partition, of whatever grain."""
    for grain in Grain:
        with suppress(ValueError):
            grain.parse(text)
            return True
    return False


def _profile(earlier: Baseline) -> Profile:
    return earlier.profile or Profile({})


def _spreads(before: ColumnProfile, now: ColumnProfile) -> tuple[list[int], list[int]]:
    """Rows per bin: tenths of what lies on a scale, each of the frequent values of anything else.

    More bins of few rows would differ by chance alone.
    """
    if before.measured:
        return grouped(before.spread, now.spread)
    then, later = ([*side.counts[:MOST_BINS], side.rest + sum(side.counts[MOST_BINS:])] for side in (before, now))
    return then, later


def distance(before: ColumnProfile, now: ColumnProfile) -> float:
    """The PSI of two profiles that were counted in the same bins."""
    return psi(*_spreads(before, now))


def _psi(before: ColumnProfile, now: ColumnProfile) -> tuple[str, float]:
    value = psi(*_spreads(before, now))
    return f"psi {value:.3f}", value


def _chi_square(before: ColumnProfile, now: ColumnProfile) -> tuple[str, float]:
    value, tail = chi_square(*_spreads(before, now))
    return f"chi-square {value:.1f}, p {tail:.2g}", tail


def _ks(before: ColumnProfile, now: ColumnProfile) -> tuple[str, float]:
    value, tail = kolmogorov_smirnov(before.spread, now.spread)
    return f"ks {value:.3f}, p {tail:.2g}", tail


_MEASURES: dict[str, Callable[[ColumnProfile, ColumnProfile], tuple[str, float]]] = {
    "psi": _psi,
    "chi_square": _chi_square,
    "ks": _ks,
}

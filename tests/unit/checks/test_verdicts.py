"""What a check says to what was counted; the counting itself is SQL, see tests/golden and tests/postgres."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_idempotent.checks import (
    CHECKS,
    AcceptedValues,
    Aggregate,
    Check,
    CustomSql,
    Diff,
    Distribution,
    Freshness,
    NoFutureKnowledge,
    NotNull,
    NullRate,
    Range,
    Reconcile,
    Relationships,
    RowCount,
    Statistic,
    Unique,
)
from airflow_idempotent.checks.age import parse_age
from airflow_idempotent.checks.check import StoreFailures
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.checks.threshold import Threshold
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Effects, Measure
from airflow_idempotent.core.verdict import Severity, Verdict, closes_gate

SAMPLES: dict[str, Check] = {
    "row_count": RowCount(min=1),
    "not_null": NotNull(columns=("a",)),
    "null_rate": NullRate(columns=("a",), max=0.5),
    "unique": Unique(columns=("a", "b")),
    "accepted_values": AcceptedValues(columns=("a",), values=("x", 1)),
    "range": Range(columns=("a",), min=0),
    "statistic": Statistic(of="sum", column="a", geq_to=0),
    "freshness": Freshness(column="a"),
    "relationships": Relationships(column="a", to="public.other"),
    "custom_sql": CustomSql(sql="SELECT a FROM this_model WHERE a < 0"),
    "reconcile": Reconcile(),
    "aggregate": Aggregate(sql="sum(a)"),
    "distribution": Distribution(columns=("a",)),
    "diff": Diff(against="public.other"),
    "no_future_knowledge": NoFutureKnowledge(columns=("a",), as_of="b"),
}

FACTS = Facts(Grain.DAY.parse("2025-05-01"), TableShape(Relation("public", "t"), ()))


def seen(rows: int, *values: Any) -> Seen:
    return Seen(rows, values, FACTS)


def test_every_check_has_a_sample_here() -> None:
    assert set(SAMPLES) == set(CHECKS)


@pytest.mark.parametrize(
    ("bounds", "rows", "verdict"),
    [
        ({"min": 1}, 0, Verdict.FAILED),
        ({"min": 1}, 1, Verdict.PASSED),
        ({"max": 2}, 2, Verdict.PASSED),
        ({"max": 2}, 3, Verdict.FAILED),
        ({"equals": 2}, 2, Verdict.PASSED),
        ({"equals": 0}, 0, Verdict.PASSED),
        ({"equals": 2}, 1, Verdict.FAILED),
        ({"min": 1, "max": 2}, 3, Verdict.FAILED),
    ],
)
def test_row_count_includes_its_bounds(bounds: dict[str, int], rows: int, verdict: Verdict) -> None:
    assert RowCount(**bounds).judge(seen(rows, rows)).verdict is verdict


@pytest.mark.parametrize(
    ("bounds", "said"), [({}, "give min, max, equals or against"), ({"min": 3, "max": 2}, "min 3 is above max 2")]
)
def test_row_count_without_sense_is_refused(bounds: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RowCount(**bounds)


@pytest.mark.parametrize("kind", ["not_null", "unique", "row_count"])
def test_severity_decides_whether_the_gate_closes(kind: str) -> None:
    bad = 0 if kind == "row_count" else 2
    options: dict[str, Any] = {"min": 1} if kind == "row_count" else {"columns": ("a",)}
    strict, mild = (
        CHECKS[kind](**options, severity=severity).judge(seen(bad, bad)) for severity in (Severity.ERROR, Severity.WARN)
    )

    assert (strict.verdict, mild.verdict) == (Verdict.FAILED, Verdict.WARNED)
    assert closes_gate((strict, mild)) == (str(strict),)
    assert closes_gate((mild, SAMPLES[kind].not_evaluated("no rows"))) == ()


def test_only_the_number_of_rows_can_be_judged_of_none() -> None:
    assert {kind for kind, check in SAMPLES.items() if check.counts_rows} == {"row_count", "reconcile", "diff"}


@pytest.mark.parametrize(
    ("options", "verdict", "said"),
    [
        ({}, Verdict.PASSED, "5 rows, digest equal"),
        ({"landed": 6}, Verdict.FAILED, "manifest has 6 rows, the ledger accounts for 5"),
        ({"now": Measure(row_count=4, digest="x")}, Verdict.FAILED, "ledger has 5 rows, the table 4"),
        ({"now": Measure(row_count=5, digest="x")}, Verdict.FAILED, "with other content"),
        ({"now": Measure(row_count=4, digest="x"), "changed_since": "b_02"}, Verdict.NOT_EVALUATED, "batch b_02"),
        ({"recorded": Measure(), "now": Measure()}, Verdict.NOT_EVALUATED, "no partition column"),
    ],
)
def test_reconcile_compares_manifest_ledger_and_table(options: dict[str, Any], verdict: Verdict, said: str) -> None:
    measured = Measure(row_count=5, digest="d")
    facts = {"landed": 5, "effects": Effects(inserted=2, stale=1, duplicate=2), "recorded": measured, "now": measured}

    result = Reconcile().compare(**(facts | options))

    assert result.verdict is verdict
    assert said in result.message


# --- thresholds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "violations", "verdict"),
    [
        ({}, 0, Verdict.PASSED),
        ({}, 1, Verdict.FAILED),
        ({"error_if": ">10"}, 10, Verdict.WARNED),
        ({"error_if": ">10"}, 11, Verdict.FAILED),
        ({"error_if": ">10", "warn_if": ">5"}, 5, Verdict.PASSED),
        ({"error_if": ">= 2%"}, 2, Verdict.FAILED),
        ({"error_if": ">2.5%", "warn_if": ">1%"}, 2, Verdict.WARNED),
        ({"severity": Severity.WARN, "warn_if": ">3"}, 3, Verdict.PASSED),
        ({"severity": Severity.WARN, "warn_if": ">3"}, 4, Verdict.WARNED),
        ({"error_if": "!=1"}, 0, Verdict.FAILED),
    ],
)
def test_thresholds_say_how_many_violations_are_too_many(
    options: dict[str, Any], violations: int, verdict: Verdict
) -> None:
    assert NotNull(columns=("a",), **options).judge(seen(100, violations)).verdict is verdict


def test_a_share_of_no_rows_is_never_reached() -> None:
    assert not Threshold.parse(">=0%").reached(0, 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"error_if": "10"}, "'10' is no threshold, write it like '>10', '!=0' or '>1%'"),
        ({"warn_if": "> ten"}, "no threshold"),
        ({"error_if": ">1", "severity": Severity.WARN}, "never applies with severity warn"),
        ({"store_failures": True, "kind": "row_count"}, "no single row breaks a row_count"),
        ({"error_if": ">1", "kind": "row_count"}, "row_count has none"),
    ],
)
def test_options_that_would_do_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    kind = options.pop("kind", "not_null")
    with pytest.raises(ValueError, match=said):
        CHECKS[kind](**options, **({"min": 1} if kind == "row_count" else {"columns": ("a",)}))


@pytest.mark.parametrize("limit", [0, 10_001])
def test_failing_rows_are_kept_within_reason(limit: int) -> None:
    with pytest.raises(ValueError, match="keep 1 to 10,000 rows"):
        StoreFailures(limit)


# --- conditions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "columns"),
    [
        ("status = 'paid'", ("status",)),
        ('Amount > 3 and "Odd Name" is null -- why', ("amount", "Odd Name")),
        ("(a)::text like 'x%'", ("a",)),
    ],
)
def test_a_condition_tells_its_columns(where: str, columns: tuple[str, ...]) -> None:
    check = RowCount(min=1, where=where)

    assert check.columns_used == columns


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("a >", "not an SQL condition"),
        (" ", "not one SQL condition"),
        ("true) or (false", "not one SQL condition"),
        ("a = 1); drop table t; select (1", "not one SQL condition"),
        ("a = 1) union select (1", "not one SQL condition"),
        ("true) limit (1", "not one SQL condition"),
        ("a in (select b from other)", "cannot query"),
        ("exists (select 1 from other)", "cannot query"),
        ("count(*) > 1", "cannot aggregate"),
        ("row_number() over () = 1", "cannot aggregate"),
        ("a = :start", "takes no binds"),
        ("t.a = 1", "without their table"),
    ],
)
def test_what_is_not_one_condition_on_a_row_is_refused(where: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        NotNull(columns=("a",), where=where)


# --- lengths of time -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hours"),
    [("36h", 36), ("1d 12h", 36), ("90 minutes", 1.5), ("2 Days", 48), ("P1DT12H", 36), ("PT30M", 0.5), ("P1W", 168)],
)
def test_a_length_of_time_is_read_as_people_write_it(text: str, hours: float) -> None:
    assert parse_age(text) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "P", "1", "day", "1 month", "1d and 2h", "-1d", "1.5.5h"])
def test_anything_else_is_no_length_of_time(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        parse_age(text)


@pytest.mark.parametrize(
    ("cutoff", "reference", "horizon"),
    [
        (None, "2025-05-02T00:00", "2025-05-02T00:00"),
        ("2025-05-01T20:00", "2025-05-01T20:00", "2025-05-02T00:00"),
        ("2025-05-03T06:00", "2025-05-02T00:00", "2025-05-03T06:00"),
    ],
)
def test_data_is_as_old_as_it_was_when_its_partition_ended(cutoff: str | None, reference: str, horizon: str) -> None:
    at = datetime.fromisoformat(cutoff).replace(tzinfo=UTC) if cutoff else None

    found = replace(FACTS, cutoff=at)

    assert found.reference == datetime.fromisoformat(reference).replace(tzinfo=UTC)
    assert found.horizon == datetime.fromisoformat(horizon).replace(tzinfo=UTC)

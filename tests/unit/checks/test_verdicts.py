"""What a check says to what was counted; the counting itself is SQL, see tests/golden and tests/postgres."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.checks import (
    CHECKS,
    Aggregate,
    Check,
    Diff,
    Distribution,
    NoFutureKnowledge,
    NotNull,
    Reconcile,
    RowCount,
    Unique,
)
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Effects, Measure
from airflow_idempotent.core.verdict import Severity, Verdict, closes_gate

SAMPLES: dict[str, Check] = {
    "row_count": RowCount(min=1),
    "not_null": NotNull(columns=("a",)),
    "unique": Unique(columns=("a", "b")),
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

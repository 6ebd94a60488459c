"""Checks that compare: what their options mean, and what they say to what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from airflow_idempotent.checks import Aggregate, Diff, Distribution, NoFutureKnowledge, Reconcile
from airflow_idempotent.checks.facts import Baseline, Facts, Loaded, Seen
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.profile import ColumnProfile, Profile, Sampling
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.verdict import Severity, Verdict
from airflow_idempotent.spec.load import LoadSpec

SHAPE = TableShape(
    Relation("public", "orders"),
    (Column("id", "bigint"), Column("amount", "numeric(12,2)"), Column("country", "text")),
)
FACTS = Facts(Grain.DAY.parse("2025-05-01"), SHAPE)


def problems(**check: Any) -> str:
    """What a spec with this check is told."""
    with pytest.raises(ValidationError) as caught:
        LoadSpec(table="orders", unique_key="id", checks=[check])
    return str(caught.value)


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("amount", "no aggregate, write it like 'sum(amount)'"),
        ("sum(amount) + amount", "column 'amount' stands outside any aggregate"),
        ("sum(amount", "not an SQL expression"),
        ("sum(amount), count(*)", "not one SQL expression"),
        ("sum(amount) FROM other", "not an SQL expression"),
        ("sum(amount)) FROM pg_user --", "not"),
        ("sum((SELECT max(amount) FROM other))", "cannot query"),
        ("sum(sum(amount)) OVER ()", "a window function has a value for every row"),
        ("sum(amount) FILTER (WHERE d >= :start)", "an aggregate takes no binds"),
        ("sum(o.amount)", "name columns without their table (o.amount)"),
        ("count(*) FILTER (WHERE at < now())", "sql: now() gives another value in every run"),
        ("sum(amount) * random()", "sql: random() gives another value in every run"),
    ],
)
def test_what_is_not_one_repeatable_aggregate_is_refused_when_the_spec_is_loaded(sql: str, said: str) -> None:
    assert said in problems(aggregate=sql)


@pytest.mark.parametrize(
    "sql",
    [
        "sum(amount)",
        "count(*)",
        "count(DISTINCT country)",
        "sum(amount) / nullif(count(*), 0)",
        "sum(amount) FILTER (WHERE country = 'de')",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY amount)",
        "extract(epoch FROM max(at))",
        "avg(\n  amount  -- net\n)",
    ],
)
def test_aggregates_of_all_kinds_are_read(sql: str) -> None:
    [check] = LoadSpec(table="orders", unique_key="id", checks=[{"aggregate": sql}]).checks

    assert check.aggregates()


def test_the_columns_of_an_aggregate_are_looked_for_in_the_table() -> None:
    check = Aggregate(sql='sum(Amount) / max("Rate")', where="country = 'de'")

    assert check.columns_used == ("amount", "Rate", "country")
    assert check.label == "aggregate(sum(Amount) / max(\"Rate\"), against source) where country = 'de'"


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"aggregate": {"sql": "sum(a)", "against": "manifest"}}, "a manifest knows only how many rows there are"),
        ({"aggregate": {"sql": "sum(a)", "against": "previuos"}}, "write source, manifest, previous, same_weekday"),
        ({"aggregate": {"sql": "sum(a)", "tolerance": -1}}, "tolerance is 0 or more"),
        ({"aggregate": {"sql": "sum(a)", "tollerance": 1}}, "unknown option 'tollerance', did you mean 'tolerance'?"),
        ({"aggregate": {"sql": "sum(a)", "warn_if": ">1"}}, "warn_if counts violations, and aggregate has none"),
        ({"diff": {"against": "a.b.c"}}, "a.b.c"),
        ({"diff": {"against": "a.b", "columns": ["x"], "exclude_columns": ["y"]}}, "columns or exclude_columns"),
        ({"diff": {"against": "a.b", "tolerance": {"x": -1}}}, "tolerance is 0 or more"),
        ({"distribution": {"columns": ["x"], "against": "previuos"}}, "or a partition like '2025-05-01'"),
        ({"distribution": {"columns": ["x"], "method": "ps"}}, "psi"),
        ({"distribution": {"columns": ["x"], "warn_at": 0.3}}, "psi warns at or below where it fails"),
        ({"distribution": {"columns": ["x"], "method": "ks", "warn_at": 0.0001}}, "ks warns at or above"),
        ({"distribution": {"columns": ["x"], "null_rate": 2}}, "null_rate is a share"),
        ({"distribution": {"columns": ["x"], "sample": 5}}, "sample is 100 to 1,000,000 rows"),
        ({"distribution": {"columns": ["x"], "where": "y > 1"}}, "nobody has kept the distribution of such rows"),
        ({"distribution": []}, "name at least one column"),
        ({"reconcile": {"buckets": 1}}, "buckets is 2 to 4,096"),
        ({"relationships": {"column": "x"}}, "to: Field required"),
        ({"relationships": {"column": "x", "to": "a.b.c"}}, "a.b.c"),
        ({"relationships": {"column": "x", "to": "a.b", "to_where": "1 in (select 2)"}}, "cannot query"),
        ({"relationships": {"column": "x", "to": "a.b", "feild": "y"}}, "did you mean 'field'?"),
    ],
)
def test_options_without_sense_are_refused(check: Mapping[str, Any], said: str) -> None:
    assert said in problems(**check)


@pytest.mark.parametrize("check", [{"diff": "a.b"}, {"reconcile": {"buckets": 8}}])
def test_rows_are_told_apart_by_a_key(check: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        LoadSpec(table="orders", strategy="append", checks=[check])

    [(path, _)] = caught.value.errors()[0]["ctx"]["problems"]
    assert path in ("checks.0.diff.key", "checks.0.reconcile.buckets")


@pytest.mark.parametrize("key", ["2025-05-01", date(2025, 5, 1), "2025-W18", "2025-05-01T10", "2025-05", "2025"])
def test_a_partition_is_named_by_its_key_which_yaml_may_take_for_a_date(key: Any) -> None:
    assert Distribution(columns=("amount",), against=key).partitions_used == (str(key),)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def aggregated(value: Any, other: Any, **options: Any) -> Any:
    check = Aggregate(sql="sum(amount)", against="previous", **options)
    past = Baseline("2025-05-01", "20250501_01", 1, observed={check.label: other})
    return check.judge(Seen(3, (value,), replace(FACTS, previous=past)))


@pytest.mark.parametrize(
    ("value", "other", "options", "verdict"),
    [
        (100, 100, {}, Verdict.PASSED),
        (101, 100, {}, Verdict.FAILED),
        (101, 100, {"tolerance": 0.01}, Verdict.PASSED),
        (-101, -100, {"tolerance": 0.01}, Verdict.PASSED),
        (-101, -100, {"tolerance": 0.009}, Verdict.FAILED),
        (1, 0, {"tolerance": 0.5}, Verdict.FAILED),
        (1, 0, {"absolute_tolerance": 1}, Verdict.PASSED),
        (None, 0, {"absolute_tolerance": 1}, Verdict.FAILED),
        (None, None, {}, Verdict.PASSED),
        (float("nan"), float("nan"), {}, Verdict.PASSED),
        (float("nan"), 1, {"absolute_tolerance": 1e9}, Verdict.FAILED),
        (float("inf"), float("inf"), {}, Verdict.PASSED),
        (1, float("inf"), {"absolute_tolerance": 1}, Verdict.FAILED),
        (2, 1, {"severity": Severity.WARN}, Verdict.WARNED),
    ],
)
def test_numbers_are_as_near_as_they_may_be(value: Any, other: Any, options: Any, verdict: Verdict) -> None:
    assert aggregated(value, other, **options).verdict is verdict


@given(st.decimals(-(10**12), 10**12, places=2), st.decimals(-(10**12), 10**12, places=2), st.floats(0, 1))
def test_a_wider_tolerance_refuses_nothing_that_a_narrower_allows(mine: Any, other: Any, share: float) -> None:
    verdicts = [aggregated(mine, other, tolerance=bound).verdict for bound in (share, share * 2, 1e30)]

    order = [Verdict.PASSED, Verdict.FAILED]
    assert [order.index(item) for item in verdicts] == sorted((order.index(item) for item in verdicts), reverse=True)


@pytest.mark.parametrize(
    ("loaded", "verdict"),
    [
        (None, Verdict.NOT_EVALUATED),
        (Loaded({}, is_all=True), Verdict.NOT_EVALUATED),
        (Loaded({"aggregate(sum(amount), against source)": 5}, is_all=False), Verdict.NOT_EVALUATED),
        (Loaded({"aggregate(sum(amount), against source)": 5}, is_all=True), Verdict.PASSED),
        (Loaded({"aggregate(sum(amount), against source)": 6}, is_all=True), Verdict.FAILED),
    ],
)
def test_after_the_load_the_source_is_what_the_ledger_says_it_gave(loaded: Loaded | None, verdict: Verdict) -> None:
    result = Aggregate(sql="sum(amount)").judge(Seen(3, (5,), replace(FACTS, loaded=loaded)))

    assert (result.verdict, result.observed, result.rows) == (verdict, 5, 3)


def test_what_is_found_is_kept_when_there_is_nothing_to_compare_with_yet() -> None:
    result = Aggregate(sql="sum(amount)", against="same_weekday").judge(Seen(3, (5,), FACTS))

    assert (result.verdict, result.observed) == (Verdict.NOT_EVALUATED, 5)


def spread(*counts: int, nulls: int = 0, measured: bool = True) -> Profile:
    bins = tuple(str(number) for number in range(len(counts)))
    return Profile({"amount": ColumnProfile(measured, sum(counts) + nulls, nulls, bins, counts)})


@pytest.mark.parametrize(
    ("options", "now", "verdict", "said"),
    [
        ({}, spread(500, 500), Verdict.PASSED, "amount psi 0.000"),
        ({}, spread(340, 660), Verdict.WARNED, "amount psi 0.106 (warns at 0.1)"),
        ({}, spread(200, 800), Verdict.FAILED, "amount psi 0.416 (fails at 0.25)"),
        ({"severity": Severity.WARN}, spread(200, 800), Verdict.WARNED, "fails at"),
        ({"error_at": 0.5}, spread(200, 800), Verdict.WARNED, "warns at 0.1"),
        ({}, spread(450, 450, nulls=100), Verdict.PASSED, "psi 0.000"),
        ({}, spread(400, 400, nulls=200), Verdict.FAILED, "amount NULL in 0.0% to 20.0% of the rows"),
        ({"null_rate": 0.3}, spread(400, 400, nulls=200), Verdict.PASSED, "psi 0.000"),
        ({}, spread(0, 0, nulls=1000), Verdict.FAILED, "no values to compare"),
        ({"method": "chi_square"}, spread(455, 545), Verdict.WARNED, "p 0.044 (warns at 0.05)"),
        ({"method": "ks"}, spread(200, 800), Verdict.FAILED, "amount ks 0.300"),
    ],
)
def test_a_distribution_is_judged_by_its_method_and_its_nulls(
    options: Any, now: Profile, verdict: Verdict, said: str
) -> None:
    check = Distribution(columns=("amount",), **options)

    result = check.compared(spread(500, 500), now, 1000, "the day before")

    assert result.verdict is verdict
    assert said in result.message


def test_many_rare_values_are_no_drift() -> None:
    """Fifty values in turn, ten rows each: chance alone would move a measure of fifty bins."""
    before = spread(*([10] * 50), measured=False)
    now = spread(*([7, 13] * 25), measured=False)

    assert Distribution(columns=("amount",)).compared(before, now, 500, "").verdict is Verdict.PASSED


@given(st.integers(1, 10**7), st.integers(100, 10**6))
def test_a_sample_is_a_share_of_the_rows_that_grows_with_its_size(rows: int, size: int) -> None:
    def share(of: int) -> float:
        return (Sampling.of(["id"], of, "t").most(rows) + (1 << 63)) / (1 << 64)

    assert share(size) == pytest.approx(min(1.0, size / rows))
    assert share(size) <= share(size + 1)


def test_the_seed_of_a_sample_is_made_from_what_is_sampled() -> None:
    one = Sampling.of(["id"], 100, "public.orders", "2025-05-01", "20250501_01")

    assert one == Sampling.of(["id"], 100, "public.orders", "2025-05-01", "20250501_01")
    assert one.seed != Sampling.of(["id"], 100, "public.orders", "2025-05-01", "20250501_02").seed


@pytest.mark.parametrize(
    ("as_of", "bind"),
    [
        ("partition_end", datetime(2025, 5, 2, tzinfo=UTC)),
        ("cutoff", datetime(2025, 5, 2, 6, tzinfo=UTC)),
    ],
)
def test_the_as_of_of_all_rows_is_bound_as_the_column_compares_it(as_of: str, bind: datetime) -> None:
    shape = TableShape(Relation("public", "t"), (Column("a", "timestamptz"), Column("b", "date")))
    facts = replace(FACTS, shape=shape, cutoff=datetime(2025, 5, 2, 6, tzinfo=UTC))
    check = NoFutureKnowledge(columns=("a", "b"), as_of=as_of)

    binds = check.binds(facts)

    assert binds["as_of_0"] == bind
    assert binds["as_of_1"] == date(2025, 5, 2)


def test_labels_tell_checks_apart() -> None:
    labels = {
        check.label
        for check in (
            Aggregate(sql="sum(a)"),
            Aggregate(sql="sum(a)", against="previous"),
            Diff(against="a.b"),
            Diff(against="a.b", columns=("x",)),
            Distribution(columns=("a",)),
            Distribution(columns=("a",), method="ks"),
            NoFutureKnowledge(columns=("a",)),
            NoFutureKnowledge(columns=("a",), as_of="cutoff"),
            Reconcile(buckets=8),
        )
    }

    assert len(labels) == 9


def test_rows_that_refer_to_their_own_table_ask_for_a_query() -> None:
    with pytest.raises(ValidationError) as caught:
        LoadSpec(table="orders", strategy="append", checks=[{"relationships": {"column": "x", "to": "public.orders"}}])

    [(path, _)] = caught.value.errors()[0]["ctx"]["problems"]
    assert path == "checks.0.relationships.to"

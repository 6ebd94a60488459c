"""How checks are written, long and short."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from airflow_idempotent.checks import (
    ALIASES,
    CHECKS,
    AcceptedValues,
    Check,
    Freshness,
    NotNull,
    NullRate,
    Range,
    Reconcile,
    Relationships,
    RowCount,
    Statistic,
    Unique,
)
from airflow_idempotent.checks.aliases import in_our_words, other_words
from airflow_idempotent.checks.check import StoreFailures
from airflow_idempotent.core.verdict import Severity
from tests.unit.spec.orders import orders, problems_with

WARN = Severity.WARN


@pytest.mark.parametrize(
    ("written", "check"),
    [
        ({"unique": ["a", "b"]}, Unique(columns=("a", "b"))),
        ({"unique": "a"}, Unique(columns=("a",))),
        ({"unique": {"columns": ["a"], "severity": "warn"}}, Unique(columns=("a",), severity=WARN)),
        ({"not_null": "a"}, NotNull(columns=("a",))),
        ({"not_null": ["a", "b"]}, NotNull(columns=("a", "b"))),
        ({"row_count": 5}, RowCount(equals=5)),
        ({"row_count": 0}, RowCount(equals=0)),
        ({"row_count": {"min": 1}}, RowCount(min=1)),
        ({"row_count": {"min": 1, "max": 1, "severity": "warn"}}, RowCount(min=1, max=1, severity=WARN)),
        ("reconcile", Reconcile()),
        ({"reconcile": None}, Reconcile()),
        ({"reconcile": {}}, Reconcile()),
        ({"reconcile": "warn"}, Reconcile(severity=WARN)),
        (Unique(columns=("a",)), Unique(columns=("a",))),
        # the names of Airflow's check operators, dbt and SQLMesh
        ({"count": 5}, RowCount(equals=5)),
        ({"null_check": "a"}, NotNull(columns=("a",))),
        ({"not_null_values": ["a"]}, NotNull(columns=("a",))),
        ({"unique_check": "a"}, Unique(columns=("a",))),
        ({"unique_values": "a"}, Unique(columns=("a",))),
        ({"unique_combination_of_columns": ["a", "b"]}, Unique(columns=("a", "b"))),
        ({"null_check": {"column": "a", "equal_to": 0}}, NotNull(columns=("a",))),
        ({"null_check": {"column": "a", "leq_to": 5}}, NotNull(columns=("a",), error_if=">5")),
        ({"unique_check": {"column": "a", "less_than": 2}}, Unique(columns=("a",), error_if=">=2")),
        ({"distinct_check": {"column": "a", "geq_to": 2}}, Statistic(of="distinct", column="a", geq_to=2)),
        ({"min": {"column": "a", "geq_to": 0}}, Statistic(of="min", column="a", geq_to=0)),
        (
            {"max": {"column": "a", "leq_to": 9, "tolerance": 0.1}},
            Statistic(of="max", column="a", leq_to=9, tolerance=0.1),
        ),
        ({"row_count": {"equal_to": 5, "tolerance": 0.1}}, RowCount(equals=5, tolerance=0.1)),
        ({"accepted_values": {"column": "a", "is_in": ["x"]}}, AcceptedValues(columns=("a",), values=("x",))),
        (
            {"accepted_range": {"column": "a", "min_v": 1, "max_v": 2, "inclusive": False}},
            Range(columns=("a",), min=1, max=2, exclusive=True),
        ),
        ({"accepted_range": {"column": "a", "min_value": 1}}, Range(columns=("a",), min=1)),
        (
            {"relationships": {"column_name": "a", "to": "ref('customers')", "field": "id"}},
            Relationships(column="a", to="customers", field="id"),
        ),
        (
            {"foreign_key": {"column": "a", "to_table": 'source("shop", "customers")'}},
            Relationships(column="a", to="shop.customers"),
        ),
        (
            {"relationships_where": {"column": "a", "to": "s.b", "from_condition": "c", "to_condition": "d"}},
            Relationships(column="a", to="s.b", where="c", to_where="d"),
        ),
        ({"number_of_rows": {"threshold": 9}}, RowCount(min=10)),
        ({"not_null_proportion": {"column": "a", "threshold": 0.9}}, NullRate(columns=("a",), max=0.1)),
        ({"not_null_proportion": {"column": "a", "at_least": 0.95}}, NullRate(columns=("a",), max=0.05)),
        (
            {"unique_combination_of_columns": {"combination_of_columns": ["a", "b"]}},
            Unique(columns=("a", "b")),
        ),
        (
            {"recency": {"field": "a", "datepart": "day", "interval": 2}},
            Freshness(column="a", max_age="2 day"),
        ),
        (
            {"freshness": {"column": "a", "max_age": {"count": 12, "period": "hour"}}},
            Freshness(column="a", max_age="12 hour"),
        ),
        (
            {"not_null": {"columns": "a", "store_failures": {"limit": 5}}},
            NotNull(columns=("a",), store_failures=StoreFailures(5)),
        ),
    ],
)
def test_a_check_is_written_in_full_or_in_short(written: Any, check: Check) -> None:
    assert orders(checks=[written]).checks == (check,)


def test_a_column_mapping_of_airflow_is_the_checks_it_stands_for() -> None:
    mapping = {
        "a": {"null_check": {"equal_to": 0}, "min": {"geq_to": 1, "severity": "warn"}},
        "b": {"unique_check": {"equal_to": 0}, "distinct_check": {"greater_than": 3}},
    }

    assert orders(checks=[{"row_count": 5}, {"column_mapping": mapping}]).checks == (
        RowCount(equals=5),
        NotNull(columns=("a",)),
        Statistic(of="min", column="a", geq_to=1, severity=WARN),
        Unique(columns=("b",)),
        Statistic(of="distinct", column="b", greater_than=3),
    )


@pytest.mark.parametrize("name", [*CHECKS, *ALIASES])
def test_an_option_under_another_name_is_one_that_is_known(name: str) -> None:
    kind = ALIASES.get(name, name)
    known = {item.name for item in fields(CHECKS[kind])}

    for word in other_words(name):
        _, options = in_our_words(name, {word: 1})
        assert options.keys() <= known


@pytest.mark.parametrize("alias", ALIASES)
def test_every_alias_is_a_check_that_exists(alias: str) -> None:
    assert ALIASES[alias] in CHECKS
    assert alias not in CHECKS


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ({"unqiue": ["a"]}, "unknown check 'unqiue', did you mean 'unique'?"),
        ({"Unique": ["a"]}, "unknown check 'Unique', did you mean 'unique'?"),
        ({"null_chek": ["a"]}, "unknown check 'null_chek', did you mean 'null_check'?"),
        ("rowcount", "unknown check 'rowcount', did you mean 'row_count'?"),
        ({"xyzzy": 1}, "unknown check 'xyzzy'"),
        ({5: 5}, "unknown check 5"),
        ({"row_count": {"mim": 1}}, "row_count: unknown option 'mim', did you mean 'min'?"),
        ({"row_count": {"min": 1, "columns": ["a"]}}, "row_count: unknown option 'columns'"),
        (
            {"unique": {"colums": ["a"]}},
            "unique: columns: Field required; unknown option 'colums', did you mean 'columns'?",
        ),
        ({"count": {"mim": 1}}, "count: unknown option 'mim', did you mean 'min'?"),
        ({"unique": {"columns": ["a"], "severity": "warning"}}, "unique: severity: Input should be 'warn' or 'error'"),
        ({"unique": 5}, "unique: columns: must be a list"),
        (
            {"unique": {"columns": "a", "column": "b"}},
            "unique: an option is given twice, under two of its names",
        ),
        (
            {"null_check": {"column": "a", "geq_to": 1, "leq_to": 2}},
            "null_check: leq_to and geq_to: give one threshold",
        ),
        ({"not_null": {"columns": "a", "error_if": "many"}}, "not_null: 'many' is no threshold, write it like …"),
        ({"not_null": {"columns": "a", "where": "a >"}}, "not_null: not an SQL condition: 'a >'"),
        ({"not_null": {"columns": "a", "where": "ts < now()"}}, "not_null: where: now() gives another value in …"),
        ({"custom_sql": "select 1 from t"}, "custom_sql: sql: it does not read this_model, as the rows …"),
        ({"custom_sql": "delete from this_model"}, "custom_sql: sql: line 1: not a query: write one SELECT, …"),
        ({"custom_sql": "select a from this_model where random() < 1"}, "custom_sql: sql: line 1: random() gives …"),
        ({"custom_sql": "select a from this_model where b > :run"}, "custom_sql: sql: unknown bind :run, there are …"),
        ({"custom_sql": "select a from this_model limit 5"}, "custom_sql: sql: line 1: LIMIT without ORDER BY …"),
        ({"freshness": {"column": "a", "max_age": "soon"}}, "freshness: 'soon' is no length of time, write it …"),
        ({"range": {"columns": "a"}}, "range: give min or max"),
        ({"null_rate": {"columns": "a", "max": 5}}, "null_rate: max 5 is no share below 1: 0.05 allows 5 %"),
        ({"min": {"column": "a"}}, "min: give equal_to, greater_than, geq_to, less_than, leq_to"),
        ({"row_count": {"against": "previous", "where": "a > 1"}}, "row_count: where: nobody has counted such rows …"),
        ({"unique": []}, "unique: name at least one column"),
        ({"not_null": {"columns": []}}, "not_null: name at least one column"),
        ({"row_count": {}}, "row_count: give min, max, equals or against"),
        ("row_count", "row_count: give min, max, equals or against"),
        ({"row_count": {"min": 3, "max": 1}}, "row_count: min 3 is above max 1"),
        ("unique", "unique: columns: Field required"),
    ],
)
def test_a_check_that_cannot_be_meant_is_told_what_is_wrong(written: Any, text: str) -> None:
    [(path, said)] = problems_with(checks=["reconcile", written])

    assert path == "checks.1"
    assert said.startswith(text.removesuffix("…")) if text.endswith("…") else said == text


@pytest.mark.parametrize("written", [{"unique": ["a"], "severity": "warn"}, {}, None, 5, ["unique"]])
def test_a_check_is_one_name_with_its_options(written: Any) -> None:
    assert problems_with(checks=[written]) == [
        ("checks.0", "a check is one name with its options, like 'unique: [order_id]'")
    ]


def test_checks_are_a_list() -> None:
    assert problems_with(checks={"unique": ["a"]}) == [("checks", "must be a list")]


@pytest.mark.parametrize("make", [lambda: Unique(columns=()), lambda: NotNull(columns=()), lambda: RowCount()])
def test_a_check_of_nothing_is_refused_in_python_too(make: Any) -> None:
    with pytest.raises(ValueError, match=r"at least one column|give min, max, equals or against"):
        make()

"""How checks are written, long and short."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.checks import ALIASES, CHECKS, Check, NotNull, Reconcile, RowCount, Unique
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
    ],
)
def test_a_check_is_written_in_full_or_in_short(written: Any, check: Check) -> None:
    assert orders(checks=[written]).checks == (check,)


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
            {"unique": {"column": ["a"]}},
            "unique: columns: Field required; unknown option 'column', did you mean 'columns'?",
        ),
        ({"count": {"mim": 1}}, "count: unknown option 'mim', did you mean 'min'?"),
        ({"unique": {"columns": ["a"], "severity": "warning"}}, "unique: severity: Input should be 'warn' or 'error'"),
        ({"unique": 5}, "unique: columns: must be a list"),
        ({"unique": []}, "unique: name at least one column"),
        ({"not_null": {"columns": []}}, "not_null: name at least one column"),
        ({"row_count": {}}, "row_count: give min, max, equals or against"),
        ("row_count", "row_count: give min, max, equals or against"),
        ({"row_count": {"min": 3, "max": 1}}, "row_count: min 3 is above max 1"),
        ("unique", "unique: columns: Field required"),
    ],
)
def test_a_check_that_cannot_be_meant_is_told_what_is_wrong(written: Any, text: str) -> None:
    assert problems_with(checks=["reconcile", written]) == [("checks.1", text)]


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

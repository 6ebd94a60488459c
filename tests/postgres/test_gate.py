"""The gate: what a refused batch leaves behind, and that nothing else becomes visible than what was looked at."""

from __future__ import annotations

import re
from typing import Any

import pytest

from airflow_idempotent.engine.states import partition_states
from airflow_idempotent.errors import CheckQueryError, GateClosedError
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect
from tests.tried import TRIED, every_strategy

CHECKS = [
    {"accepted_values": {"column": "v", "values": ["good", "better"], "store_failures": True}},
    {"row_count": {"min": 1}},
]


@every_strategy
def test_a_closed_gate_publishes_nothing_and_says_what_it_refused(connect_once: Connect, name: str) -> None:
    warehouse, tried = Warehouse(connect_once), TRIED[name]
    spec = tried.spec(checks=CHECKS)
    warehouse.sql(tried.ddl())
    warehouse.load(spec, tried.batch((1, 1, "good")))
    before = warehouse.physical("t")
    bad = warehouse.batches.land(spec, tried.batch((1, 2, "good"), (2, 2, "rotten")), revision=2)

    for _ in range(2):  # a retry with the same batch is judged again
        with pytest.raises(GateClosedError, match=r"1 of 2 rows have another value, e.g. .*rotten"):
            warehouse.load_again(spec, bad)

    assert warehouse.physical("t") == before
    assert warehouse.events("public.t")[1:] == [(DAY, "20250501_02", "stage_merge", "rejected")] * 2
    assert warehouse.batches.content.keys() >= {("20250501_02", "part-00000.csv")}
    kept = "SELECT batch_id, check_name, content ->> 'id', content ->> 'v' FROM airflow_idempotent.check_failures"
    assert warehouse.sql(kept) == [("20250501_02", "accepted_values(v)", "2", "rotten")] * 2
    [state] = partition_states(connect_once, "public.t")
    assert (state["state"], state["batch_id"]) == ("rejected", "20250501_02")
    assert "1 check failed, nothing was published. accepted_values(v): 1 of 2 rows" in state["message"]

    receipt = warehouse.load(spec, tried.batch((1, 3, "better"), (2, 3, "good")), revision=3)

    assert [str(result.verdict) for result in receipt.checks] == ["passed", "passed"]
    [state] = partition_states(connect_once, "public.t")
    assert (state["state"], state["batch_id"]) == ("published", "20250501_03")
    assert warehouse.sql("SELECT count(*) FROM t WHERE v = 'rotten'") == [(0,)]


@pytest.mark.parametrize("name", [name for name, tried in TRIED.items() if "unique_key" in tried.words])
def test_checks_see_the_rows_that_would_be_published_not_the_duplicates_that_lose(
    connect_once: Connect, name: str
) -> None:
    warehouse, tried = Warehouse(connect_once), TRIED[name]
    least = name == "insert_only"
    warehouse.sql(tried.ddl())
    bad, good = (1, 2 if least else 1, "rotten"), (1, 1 if least else 2, "good")
    rows = (bad, good) if name != "scd2" else (good, good)  # every version of a key is one of its rows

    receipt = warehouse.load(tried.spec(checks=CHECKS), tried.batch(*rows))

    assert [str(result) for result in receipt.checks] == [
        "accepted_values(v): 0 of 1 rows have another value",
        "row_count(min 1): 1 rows",
    ]
    assert warehouse.sql("SELECT v FROM t") == [("good",)]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            {"custom_sql": {"name": "debts", "sql": "select id from this_model where amuont < 0"}},
            "check custom_sql(debts)",
        ),
        ({"not_null": {"columns": "v", "where": "1 / (id - 1) > 0"}}, "check not_null(v) where 1 / (id - 1) > 0"),
        ({"custom_sql": {"name": "sly", "sql": "select write_down(id) from this_model"}}, "check custom_sql(sly)"),
    ],
)
def test_a_check_that_cannot_be_asked_publishes_nothing_and_is_named(
    connect_once: Connect, check: Any, said: str
) -> None:
    warehouse, tried = Warehouse(connect_once), TRIED["merge"]
    warehouse.sql(tried.ddl())
    warehouse.sql("CREATE TABLE notes (id int)")
    warehouse.sql(
        "CREATE FUNCTION write_down(i int) RETURNS int LANGUAGE sql AS 'INSERT INTO notes VALUES (i) RETURNING id'"
    )

    with pytest.raises(CheckQueryError, match=re.escape(f"{said} could not be asked")):
        warehouse.load(tried.spec(checks=[check]), tried.batch((1, 1, "good")))

    assert warehouse.sql("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM notes)") == [(0, 0)]
    assert warehouse.events("public.t") == [(DAY, "20250501_01", "stage_merge", "failed")]


def test_the_same_check_of_two_severities_keeps_its_rows_once(connect_once: Connect) -> None:
    warehouse, tried = Warehouse(connect_once), TRIED["merge"]
    warehouse.sql(tried.ddl())
    options = {"columns": "v", "severity": "warn", "store_failures": True}

    receipt = warehouse.load(tried.spec(checks=[{"not_null": options}] * 2), tried.batch((1, 1, "")))

    assert [str(result.verdict) for result in receipt.checks] == ["warned", "warned"]
    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.check_failures") == [(1,)]


@every_strategy
def test_rows_that_are_set_aside_are_not_looked_at(connect_once: Connect, name: str) -> None:
    warehouse, tried = Warehouse(connect_once), TRIED[name]
    spec = tried.spec(checks=[{"range": {"columns": "n", "max": 10}}], reject={"mode": "quarantine", "max_share": 1})
    warehouse.sql(tried.ddl("n int"))

    receipt = warehouse.load(spec, tried.csv("id,ver,d,n", [(1, 1, DAY, 5), (2, 1, DAY, "x")]))

    assert [str(result) for result in receipt.checks] == ["range(n, max 10): 0 of 1 rows are outside"]
    assert receipt.effects.rejected == 1

"""Sources that are code in Airflow: a table made from a table, a table made by a function."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, Asset

from airflow_idempotent import AtomicLandOperator, Python, StageMergeOperator, Transform
from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.errors import PythonSourceFailedError
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.airflow.running import DAY, asset_events, context, effects, run, serialized

SQL = """
SELECT region, :start::date AS day, count(*) AS orders, sum(o.amount) AS total
FROM sales.orders AS o JOIN sales.customers AS c USING (customer_id)
WHERE o.created_at >= :start AND o.created_at < :end
GROUP BY region
"""
READS = ["idempotent://warehouse/sales/customers", "idempotent://warehouse/sales/orders"]
MAKES = "idempotent://warehouse/metrics/daily"

FEED = """
def rows(key, params, count=2):
    for number in range(int(params.get("count") or count)):
        yield {"order_id": number, "amount": number * 10, "note": None, "order_date": key}

def closed():
    from airflow.providers.common.compat.sdk import AirflowSkipException
    raise AirflowSkipException("no trade on a Sunday")

def away():
    raise ConnectionError("the shop is closed")

def misspelt(kee):
    return []
"""


@pytest.fixture
def metric(tmp_path: Path) -> TableSpec:
    """Give the spec of a table made from two others."""
    words = {
        "table": "metrics.daily",
        "conn_id": "warehouse",
        "start_date": "2025-05-01",
        "end_date": "2025-06-01",
        "source": {"kind": "transform", "sql": SQL},
        "landing": {"root": str(tmp_path / "lake")},
        "columns": [
            {"name": "region", "data_type": "text"},
            {"name": "day", "data_type": "date"},
            {"name": "orders", "data_type": "bigint"},
            {"name": "total", "data_type": "numeric(12,2)"},
        ],
        "unique_key": ["region", "day"],
        "partition_by": {"column": "day"},
        "checks": [{"row_count": {"min": 1}}],
        "retries": 0,
    }
    return load_mapping(words, name="daily.yaml")


@pytest.fixture
def sales(warehouse: Any) -> Any:
    """Give a cursor in a warehouse with customers and orders."""
    warehouse.execute("create schema sales")
    warehouse.execute("create table sales.customers (customer_id int primary key, region text)")
    warehouse.execute("create table sales.orders (customer_id int, created_at timestamptz, amount numeric(12,2))")
    warehouse.execute("insert into sales.customers values (1, 'eu'), (2, 'us')")
    warehouse.execute(
        "insert into sales.orders values (1, '2025-05-01 08:00Z', 10), (1, '2025-05-01 09:00Z', 5),"
        " (2, '2025-05-01 23:00Z', 7), (2, '2025-05-02 00:00Z', 99)"
    )
    return warehouse


@pytest.fixture
def feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the name of a module of a user."""
    (tmp_path / "feed_of_a_test.py").write_text(FEED)
    monkeypatch.syspath_prepend(tmp_path)
    return "feed_of_a_test"


def daily(warehouse: Any) -> list[Any]:
    warehouse.execute("select region, day::text, orders, total::int from metrics.daily order by 2, 1")
    return list(warehouse.fetchall())


# --- transform -----------------------------------------------------------------------------------------------


def test_the_tables_it_reads_are_inlets_and_its_own_is_the_outlet(metric: TableSpec) -> None:
    dag = build_dag(metric)
    load, check = dag.get_task("partition.stage_merge"), dag.get_task("partition.validate")

    assert [asset.uri for asset in load.inlets] == [asset.uri for asset in check.inlets] == READS
    assert all(isinstance(asset, Asset) for asset in load.inlets)
    assert [asset.uri for asset in check.outlets] == [MAKES]
    assert not dag.get_task("partition.land").inlets
    assert READS[0] in serialized(dag)[0]


def test_a_table_that_reads_itself_has_no_inlet_of_its_own(metric: TableSpec) -> None:
    sql = "select region, :start::date as day, orders, total from metrics.daily where day = :start::date - 1"
    dag = build_dag(metric.model_copy(update={"source": Transform(sql, inputs=["sales.rates"])}))

    assert [asset.uri for asset in dag.get_task("partition.stage_merge").inlets] == [
        "idempotent://warehouse/sales/rates"
    ]


def test_other_sources_have_no_inlets(spec: TableSpec) -> None:
    assert not build_dag(spec).get_task("partition.stage_merge").inlets


def test_its_documentation_says_what_it_reads(metric: TableSpec) -> None:
    assert "a query inside the warehouse, of `sales.customers`, `sales.orders`" in build_dag(metric).doc_md


@pytest.mark.usefixtures("metadata")
def test_a_day_is_computed_again_and_only_what_differs_is_written(metric: TableSpec, sales: Any) -> None:
    dag = build_dag(metric)

    first, again = run(dag, DAY), run(dag, DAY)
    assert (first.state, again.state) == ("success", "success")
    assert daily(sales) == [("eu", "2025-05-01", 2, 15), ("us", "2025-05-01", 1, 7)]

    sales.execute("insert into sales.orders values (2, '2025-05-01 12:00Z', -1)")
    late = run(dag, DAY + timedelta(days=1), from_date="2025-05-01", to_date="2025-05-03")

    assert late.state == "success"
    assert daily(sales) == [("eu", "2025-05-01", 2, 15), ("us", "2025-05-01", 2, 6), ("us", "2025-05-02", 1, 99)]
    assert effects(sales) == [
        ("2025-05-01", 2, 0, 0),
        ("2025-05-01", 0, 0, 2),
        ("2025-05-01", 0, 1, 1),
        ("2025-05-02", 1, 0, 0),
    ]
    assert len(asset_events(MAKES)) == 4


def test_a_hand_written_dag_computes_by_two_operators(metric: TableSpec, sales: Any) -> None:
    root = metric.landing.root
    land = AtomicLandOperator(task_id="land", table="metrics.daily", source=Transform(SQL), root=root)
    words = {"columns": [column.model_dump() for column in metric.columns], "unique_key": ["region", "day"]}
    load = StageMergeOperator(task_id="load", conn_id="warehouse", table="metrics.daily", root=root, **words)

    pointer = land.execute(context())
    load.batch = pointer
    done = load.execute(context())

    assert (pointer["batch_id"], pointer["rows"], pointer["bytes"]) == ("20250501_01", None, 0)
    assert done["effects"]["inserted"] == 2
    assert land.execute(context())["replayed"]


def test_a_query_that_is_refused_fails_its_task_at_once(metric: TableSpec, sales: Any) -> None:
    sales.execute("alter table sales.orders rename column amount to price")
    AtomicLandOperator(task_id="land", spec=metric).execute(context())

    with pytest.raises(AirflowFailException, match=r"source.sql line 2: column o.amount does not exist. Nothing was"):
        StageMergeOperator(task_id="load", spec=metric).execute(context())


# --- python --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("metadata")
def test_the_rows_of_a_function_are_loaded_once(words: dict[str, Any], warehouse: Any, feed: str) -> None:
    source = {"kind": "python", "callable": f"{feed}:rows", "kwargs": {"count": 3}}
    dag = build_dag(load_mapping(words | {"source": source}, name="o.yaml"))

    first, again = run(dag, DAY), run(dag, DAY)

    assert (first.state, again.state) == ("success", "success")
    assert effects(warehouse) == [("2025-05-01", 3, 0, 0), ("2025-05-01", 0, 0, 3)]
    assert f"the rows that `{feed}:rows` yields" in dag.doc_md


def test_a_dag_is_parsed_without_the_code_of_its_function(words: dict[str, Any]) -> None:
    source = {"kind": "python", "callable": "no_such_module_anywhere:rows"}

    assert build_dag(load_mapping(words | {"source": source}, name="o.yaml")).task_ids


def land(tmp_path: Path, function: str) -> AtomicLandOperator:
    return AtomicLandOperator(task_id="land", table="orders", source=Python(function), root=str(tmp_path / "lake"))


def test_params_of_the_run_reach_the_function(tmp_path: Path, feed: str) -> None:
    assert land(tmp_path, f"{feed}:rows").execute(context(params={"count": 5}))["rows"] == 5


def test_an_error_is_tried_again_a_wrong_argument_is_not_and_a_skip_is_one(tmp_path: Path, feed: str) -> None:
    with pytest.raises(PythonSourceFailedError, match="the shop is closed"):
        land(tmp_path, f"{feed}:away").execute(context())
    with pytest.raises(AirflowFailException, match="wants an argument 'kee', did you mean 'key'"):
        land(tmp_path, f"{feed}:misspelt").execute(context())
    with pytest.raises(AirflowSkipException, match="no trade on a Sunday"):
        land(tmp_path, f"{feed}:closed").execute(context())

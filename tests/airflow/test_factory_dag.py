"""One DAG of the factory, run as `airflow dags test` runs it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.airflow.running import run, states

DAY = datetime(2025, 5, 1, tzinfo=UTC)


@pytest.fixture
def orders(tmp_path: Path) -> TableSpec:
    """Give the spec of a table with three days in its inbox."""
    for day, rows in {"2025-05-01": "1,10,a\n2,20,b\n", "2025-05-02": "3,30,c\n", "2025-05-03": "4,40,d\n"}.items():
        folder = tmp_path / "inbox" / day
        folder.mkdir(parents=True)
        lines = "".join(f"{line},{day}\n" for line in rows.splitlines())
        (folder / "orders.csv").write_text(f"order_id,amount,note,order_date\n{lines}")
    return load_mapping(
        {
            "table": "orders",
            "conn_id": "warehouse",
            "start_date": "2025-05-01",
            "end_date": "2025-06-01",
            "source": {"kind": "files", "path": f"{tmp_path}/inbox/{{{{ partition.key }}}}/*.csv"},
            "landing": {"root": str(tmp_path / "lake")},
            "columns": [
                {"name": "order_id", "data_type": "bigint"},
                {"name": "amount", "data_type": "numeric(12,2)"},
                {"name": "note", "data_type": "text"},
                {"name": "order_date", "data_type": "date"},
            ],
            "unique_key": "order_id",
            "partition_by": {"column": "order_date"},
            "checks": [{"row_count": {"min": 1}}],
            "retries": 0,
        },
        name="orders.yaml",
    )


@pytest.mark.usefixtures("metadata")
def test_a_day_is_loaded_once(orders: TableSpec, warehouse: Any) -> None:
    dag = build_dag(orders)

    first = run(dag, DAY)

    assert states(first) == {
        "plan": "success",
        "partition.land[0]": "success",
        "partition.stage_merge[0]": "success",
        "partition.validate[0]": "success",
    }
    warehouse.execute("select order_id, amount from orders order by 1")
    assert warehouse.fetchall() == [(1, 10), (2, 20)]

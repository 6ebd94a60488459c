"""`airflow dags backfill` of Airflow 2, typed as a user types it, over a DAG of the factory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.airflow.conftest import AIRFLOW_2, copy_database
from tests.airflow.orders import deliver

pytestmark = pytest.mark.skipif(not AIRFLOW_2, reason="Airflow 3 has `airflow backfill create`, see demo/")


@pytest.fixture
def airflow(tmp_path: Path, words: dict[str, Any], metadata: Path, database: str) -> Any:
    """Give a way to type Airflow commands where the orders are the only DAG."""
    dags = tmp_path / "dags"
    (dags / "tables").mkdir(parents=True)
    (dags / "tables_dag.py").write_text(
        '# dag\nfrom airflow_idempotent import load_tables\nload_tables("tables", globals())\n'
    )
    (dags / "tables" / "orders.yaml").write_text(yaml.safe_dump(words))
    copy_database(metadata, tmp_path / "metadata.db")  # not the one of this process: a backfill finds days done there
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__EXECUTOR": "DebugExecutor",  # runs the tasks in the process of the command
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path}/metadata.db",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "0",
        "AIRFLOW_CONN_WAREHOUSE": database.replace("postgresql://", "postgres://"),
    }

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "airflow", "dags", "backfill", "public.orders", *arguments]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=200)

    return call


def loads(warehouse: Any) -> list[Any]:
    """What each load did: partition, inserted, updated, lane."""
    warehouse.execute(
        "select partition_key, inserted, updated, lane from airflow_idempotent.events "
        "where step = 'stage_merge' order by event_id"
    )
    return list(warehouse.fetchall())


def test_a_backfill_fails_is_mended_and_is_run_again(airflow: Any, inbox: Path, warehouse: Any) -> None:
    days = ("--start-date", "2025-05-01", "--end-date", "2025-05-02")
    (inbox / "2025-05-02" / "orders.csv").unlink()

    failed = airflow(*days)
    assert failed.returncode == 1, failed.stdout[-3000:] + failed.stderr
    assert loads(warehouse) == [("2025-05-01", 2, 0, "backfill")]

    deliver(inbox, "2025-05-02", "3,30,c\n")
    mended = airflow(*days, "--rerun-failed-tasks")
    assert mended.returncode == 0, mended.stderr
    assert loads(warehouse)[1:] == [("2025-05-02", 1, 0, "backfill")]

    deliver(inbox, "2025-05-01", "1,11,a\n2,20,b\n")
    again = airflow(*days, "--reset-dagruns", "--yes")
    assert again.returncode == 0, again.stderr
    assert loads(warehouse)[2:] == [("2025-05-01", 0, 1, "backfill"), ("2025-05-02", 0, 0, "backfill")]

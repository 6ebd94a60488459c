"""An Airflow of its own for these tests: a home, a metadata database, a warehouse, an inbox and a lake.

The same files run on Airflow 2.11 and 3.3. Importing Airflow reads the environment, so it is set
here, before any test module of this folder is imported.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.airflow.counting import Backend
from tests.airflow.orders import DELIVERED, deliver
from tests.postgres_fixtures import DRIVERS

AIRFLOW_2 = version("apache-airflow").startswith("2.")
HOME = Path(tempfile.mkdtemp(prefix="idem-airflow-"))
METADATA = HOME / "metadata.db"
NO_DAGS = HOME / "dags"
NO_DAGS.mkdir()

os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(NO_DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
        "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{METADATA}",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
        # The unit test configuration of Airflow 3 hides that a cron text has no data interval.
        "AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS": "False",
    }
)


@pytest.fixture(scope="session")
def metadata(request: pytest.FixtureRequest) -> Path:
    """Give Airflow its metadata database, and an empty one to copy; made once for each version of Airflow."""
    from airflow.utils import db

    if AIRFLOW_2:
        import airflow.providers.fab.auth_manager.models  # noqa: F401 - tables that others refer to
    template = request.config.cache.mkdir("idempotent") / f"airflow-{version('apache-airflow')}.db"
    if template.exists():
        copy_database(template, METADATA)
        return template
    db.initdb()
    draft = template.with_suffix(f".{os.getpid()}")
    copy_database(METADATA, draft)
    return draft.replace(template)


def copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@pytest.fixture
def warehouse(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give a cursor in the database that the connection ``warehouse`` leads to."""
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", database.replace("postgresql://", "postgres://"))
    connection = import_module(DRIVERS[0]).connect(database)
    connection.autocommit = True
    with connection.cursor() as cursor:
        yield cursor
    connection.close()


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """Give a folder in which each day of ``DELIVERED`` has its file."""
    for day, rows in DELIVERED.items():
        deliver(tmp_path / "inbox", day, rows)
    return tmp_path / "inbox"


@pytest.fixture
def words(inbox: Path, tmp_path: Path) -> dict[str, Any]:
    """Give a spec of the table of orders, as its file would have it."""
    return {
        "table": "orders",
        "conn_id": "warehouse",
        "start_date": "2025-05-01",
        "end_date": "2025-06-01",
        "source": {"kind": "files", "path": f"{inbox}/{{{{ partition.key }}}}/*.csv"},
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
    }


@pytest.fixture
def spec(words: dict[str, Any]) -> TableSpec:
    """Give the spec of the table of orders."""
    return load_mapping(words, name="orders.yaml")


@pytest.fixture
def stats(monkeypatch: pytest.MonkeyPatch) -> Backend:
    """Give what stands for StatsD, and keeps what it is sent."""
    from airflow_idempotent.operators import metrics

    found = Backend()
    monkeypatch.setattr(metrics, "_stats", found)
    return found

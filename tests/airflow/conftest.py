"""An Airflow of its own for these tests: a home, a metadata database, a warehouse, inbox and lake.

The same files run on Airflow 2.11 and 3.3. Importing Airflow reads the environment, so it is set
here, before any test module of this folder is imported.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

HOME = Path(tempfile.mkdtemp(prefix="idem-airflow-"))
METADATA = HOME / "metadata.db"
EMPTY_BUNDLE = HOME / "dags"
EMPTY_BUNDLE.mkdir()

os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(EMPTY_BUNDLE),
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
def metadata(request: pytest.FixtureRequest) -> None:
    """Give Airflow's metadata database; made once for each version of Airflow, copied afterwards."""
    from airflow.utils import db

    name = f"airflow-{version('apache-airflow')}.db"
    template = request.config.cache.mkdir("idempotent") / name
    if version("apache-airflow").startswith("2."):
        import airflow.providers.fab.auth_manager.models  # noqa: F401 - tables that others refer to
    if template.exists():
        _copy(template, METADATA)
        return
    db.initdb()
    _copy(METADATA, template.with_suffix(f".{os.getpid()}"))
    template.with_suffix(f".{os.getpid()}").replace(template)


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@pytest.fixture
def warehouse(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give a cursor in the database that the connection ``warehouse`` leads to."""
    from tests.postgres_fixtures import DRIVERS, import_module

    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", database.replace("postgresql://", "postgres://"))
    connection = import_module(DRIVERS[0]).connect(database)
    connection.autocommit = True
    with connection.cursor() as cursor:
        yield cursor
    connection.close()

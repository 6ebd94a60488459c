"""The server that tests and the demo run on: found, started, kept, and gone when it should be."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_idempotent.testing import PostgresUnavailableError, embedded_postgres, postgres_bin
from airflow_idempotent.testing.postgres import DSN_VARIABLE


def query(dsn: str, sql: str) -> str:
    psql = [str(postgres_bin() / "psql"), "--no-psqlrc", "-Atc", sql, dsn]
    return subprocess.run(psql, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DSN_VARIABLE, raising=False)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that PostgreSQL can reach though we may be root; pytest's own are closed."""
    path = Path(tempfile.mkdtemp(prefix="idem-test-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_settings_are_passed_on_with_spaces_and_quotes() -> None:
    with embedded_postgres({"work_mem": "5MB", "log_line_prefix": "it's %m "}) as dsn:
        assert query(dsn, "SHOW work_mem") == "5MB"
        assert query(dsn, "SHOW log_line_prefix") == "it's %m"
        assert query(dsn, "SHOW fsync") == "off"


def test_durable_keeps_fsync_on() -> None:
    with embedded_postgres(durable=True) as dsn:
        assert query(dsn, "SHOW fsync") == "on"


def test_data_given_a_folder_is_there_the_next_time(folder: Path) -> None:
    with embedded_postgres(data=folder / "pg") as dsn:
        query(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")

    with embedded_postgres(data=folder / "pg") as dsn:
        assert query(dsn, "SELECT answer FROM kept") == "42"


def test_a_folder_with_something_else_in_it_is_left_alone(folder: Path) -> None:
    (folder / "letter.txt").write_text("dear")

    with pytest.raises(PostgresUnavailableError, match="neither empty nor"), embedded_postgres(data=folder):
        pass

    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


def test_a_server_that_does_not_start_says_why() -> None:
    with pytest.raises(PostgresUnavailableError, match="nonsense"), embedded_postgres({"nonsense": "1"}):
        pass


def test_the_server_stops_when_its_process_is_killed(tmp_path: Path) -> None:
    program = (
        "import time\nfrom airflow_idempotent.testing import embedded_postgres\n"
        "with embedded_postgres() as dsn: print(dsn, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        dsn = process.stdout.readline().strip()
        scratch = Path(query(dsn, "SHOW unix_socket_directories"))
        os.kill(process.pid, signal.SIGKILL)

    deadline = time.monotonic() + 30
    while scratch.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not scratch.exists()
    with pytest.raises(subprocess.CalledProcessError):
        query(dsn, "SELECT 1")


def test_a_dsn_in_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DSN_VARIABLE, "postgresql://elsewhere/x")

    with embedded_postgres() as dsn:
        assert dsn == "postgresql://elsewhere/x"

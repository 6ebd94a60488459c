"""``airflow idempotent …``: on Airflow 3 our commands are commands of Airflow."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from airflow_idempotent.cli.commands import COMMANDS
from tests.orders_folder import make_folder

pytestmark = pytest.mark.skipif(
    version("apache-airflow").startswith("2."), reason="Airflow 2 takes no commands from providers"
)


def airflow(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    home = {"AIRFLOW_HOME": str(folder / "home"), "AIRFLOW__CORE__UNIT_TEST_MODE": "False"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    command = [sys.executable, "-m", "airflow", "idempotent", *words]
    return subprocess.run(command, cwd=folder, env=kept | home, capture_output=True, text=True, check=False)


def test_the_group_lists_every_command(tmp_path: Path) -> None:
    done = airflow(tmp_path, "--help")

    assert done.returncode == 0
    assert set(re.findall(r"^    ([\w-]+)(?:\s|$)", done.stdout, re.MULTILINE)) >= set(COMMANDS)


def test_standard_output_is_the_document_and_nothing_else(tmp_path: Path) -> None:
    done = airflow(make_folder(tmp_path), "explain", "tables/orders.yaml", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["table"] == "analytics.orders"


def test_every_option_arrives_and_the_exit_code_comes_back(tmp_path: Path) -> None:
    make_folder(tmp_path)
    dsn = "postgresql://me:hunter2@127.0.0.1:1/shop"
    words = ("--partition", "2025-05-01", "--partition", "2025-05-02", "--root", "there", "--dsn", dsn, "--json")

    done = airflow(tmp_path, "run", "tables/orders.yaml", *words)

    assert done.returncode == 3
    [tried] = json.loads(done.stdout)["partitions"]
    assert tried["error"] == "UnreachableError"
    assert tried["landed"]["address"].startswith(str(tmp_path / "there"))
    assert "hunter2" not in done.stdout + done.stderr


def test_wrong_usage_is_refused_by_airflows_own_parser(tmp_path: Path) -> None:
    done = airflow(tmp_path, "plan", "tables/orders.yaml")

    assert done.returncode == 2
    assert "--from-date" in done.stderr

"""Airflow knows the provider, and the public names are importable where Airflow is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import airflow_idempotent


def test_airflow_providers_get_shows_the_package(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "airflow", "providers", "get", "airflow-provider-idempotent", "--output", "yaml"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path)},
    )

    assert f"Version: {airflow_idempotent.__version__}" in done.stdout
    assert "Failed to load" not in done.stderr


@pytest.mark.parametrize("name", airflow_idempotent.__all__)
def test_a_public_name_is_importable(name: str) -> None:
    assert getattr(airflow_idempotent, name) is not None

"""Fixtures for all tests, and the markers that follow from where a test is and what it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["tests.postgres_fixtures"]

FOLDERS = {"airflow": "airflow", "cli": "cli", "demo": "demo", "e2e": "demo", "postgres": "postgres"}
"""A folder anywhere on a test's path, and the marker it gives."""

TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part in item.path.relative_to(TESTS).parts:
            if part in FOLDERS:
                item.add_marker(FOLDERS[part])
        if "postgres_server" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")

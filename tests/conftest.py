"""Fixtures for all tests, and the markers that follow from where a test is and what it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A test of a law talks to a database, which neither is fast nor needs to be new for each example.
_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
settings.register_profile("default", max_examples=100, derandomize=True, database=None, **_common)
settings.register_profile("thorough", max_examples=4000, **_common)
settings.load_profile("default")

pytest_plugins = ["tests.cli_fixtures", "tests.postgres_fixtures"]

FOLDERS = {
    "airflow": "airflow",
    "cases": "airflow",
    "cli": "cli",
    "demo": "demo",
    "e2e": "demo",
    "postgres": "postgres",
}
"""A folder anywhere on a test's path, and the marker it gives."""

TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew instead of comparing")
    parser.addoption(
        "--cases", action="append", metavar="PATH", help="file of acceptance cases for tests/cases; may be repeated"
    )


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: gzip writes the time into its header, and two workers must collect equal names."""
    return argname if isinstance(val, bytes | memoryview) else None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part in item.path.relative_to(TESTS).parts:
            if part in FOLDERS:
                item.add_marker(FOLDERS[part])
        if "postgres_server" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")

"""Airflow discovers a provider early and in every process: that must be cheap, and cannot be allowed to fail."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest

import airflow_idempotent
from airflow_idempotent.provider_info import get_provider_info

HEAVY = {"airflow", "click", "fsspec", "pendulum", "psycopg", "psycopg2", "pydantic", "rich", "sqlalchemy", "sqlglot"}


def imported_by(statement: str) -> set[str]:
    program = f"import sys; before = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import airflow_idempotent",
        "import airflow_idempotent; dir(airflow_idempotent)",
        "from airflow_idempotent.provider_info import get_provider_info; get_provider_info()",
        "import airflow_idempotent.errors",
        "import airflow_idempotent.testing",
    ],
)
def test_it_imports_nothing_heavy(statement: str) -> None:
    assert not HEAVY & imported_by(statement)


def test_provider_info_imports_none_of_our_other_modules() -> None:
    ours = {name for name in imported_by("import airflow_idempotent.provider_info") if name.startswith("airflow_id")}

    assert ours == {"airflow_idempotent", "airflow_idempotent.provider_info"}


def test_airflow_finds_the_provider_by_its_entry_point() -> None:
    (entry,) = entry_points(
        group="apache_airflow_provider", name="provider_info", module="airflow_idempotent.provider_info"
    )

    assert entry.load() is get_provider_info


def test_the_console_script_is_there() -> None:
    (script,) = entry_points(group="console_scripts", name="airflow-idempotent")

    assert callable(script.load())


def test_the_version_is_the_same_everywhere() -> None:
    versions = get_provider_info()["versions"]

    assert versions == [airflow_idempotent.__version__] == [version("airflow-provider-idempotent")]


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'MergeOperator'"):
        _ = airflow_idempotent.MergeOperator


def test_public_names_are_listed_before_they_are_imported() -> None:
    assert set(airflow_idempotent.__all__) <= set(dir(airflow_idempotent))

"""The public names of testing: there at once, and without a test framework."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_idempotent import testing
from airflow_idempotent.testing.batches import Batch, batches_of


def imported_by(program: str) -> set[str]:
    text = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_it_imports_next_to_nothing() -> None:
    assert not {"pytest", "hypothesis", "airflow", "sqlglot", "pydantic", "psycopg"} & imported_by(
        "import airflow_idempotent.testing"
    )


def test_proving_needs_neither_airflow_nor_a_test_framework() -> None:
    imported = imported_by(f"from airflow_idempotent.testing import {', '.join(testing.__all__)}")

    assert not {"pytest", "hypothesis", "airflow"} & imported


@pytest.mark.parametrize("name", testing.__all__)
def test_each_name_is_there(name: str) -> None:
    assert getattr(testing, name).__name__ == name


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'assert_idempotence'"):
        _ = testing.assert_idempotence


def test_a_mapping_is_read_one_partition_after_another() -> None:
    found = batches_of({"b": [[{"n": 1}], "two.csv"], "a": [[]]})

    assert [(batch.partition, batch.rows, [str(path) for path in batch.files]) for batch in found] == [
        ("b", ({"n": 1},), []),
        ("b", None, ["two.csv"]),
        ("a", (), []),
    ]


def test_equal_batches_are_equal() -> None:
    assert Batch("p", [{"n": 1}]) == Batch("p", ({"n": 1},)) != Batch("p", [{"n": 2}])

"""The rules of the house that ruff and mypy do not know."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = sorted((ROOT / "airflow_idempotent").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "manager", "handler", "misc"}
"""Names under which anything could be found."""


def address(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@pytest.mark.parametrize("path", PACKAGE + TESTS, ids=address)
def test_a_module_is_named_after_what_is_in_it(path: Path) -> None:
    words = {word for part in path.relative_to(ROOT).with_suffix("").parts for word in part.split("_")}

    assert not words & SAY_NOTHING


@pytest.mark.parametrize("path", PACKAGE, ids=address)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", TESTS, ids=address)
def test_tests_use_the_real_thing(path: Path) -> None:
    assert "unittest.mock" not in imported_modules(path)

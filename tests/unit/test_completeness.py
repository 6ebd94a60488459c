"""Nothing is added without its page: strategies, checks, errors, actions, public names."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any, get_args

import pytest

import airflow_idempotent
from airflow_idempotent import checks, strategies
from airflow_idempotent.checks import ALIASES, CHECKS, Check
from airflow_idempotent.core.actions import Action
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.strategies import STRATEGIES

ROOT = Path(__file__).parents[2]
HEADINGS = re.findall(r"^### (.+)$", (ROOT / "docs/spec.md").read_text(encoding="utf-8"), re.MULTILINE)


def modules_of(package: Any) -> set[str]:
    return {item.name for item in pkgutil.iter_modules(package.__path__)}


# --- public names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", airflow_idempotent.__all__)
def test_a_public_name_has_a_home_that_holds_it(name: str) -> None:
    """Without importing operators, which takes Airflow along: tests/airflow does that."""
    if name == "__version__":
        assert airflow_idempotent.__version__
        return
    home = airflow_idempotent._HOMES[name]
    source = ROOT.joinpath(*home.split(".")).with_suffix(".py").read_text(encoding="utf-8")

    assert re.search(rf"^(class|def) {name}\b", source, re.MULTILINE)


@pytest.mark.parametrize("name", ["Files", "Python", "Query", "TableSpec", "Transform"])
def test_a_public_name_is_imported_when_it_is_first_used(name: str) -> None:
    found = getattr(airflow_idempotent, name)

    assert found is getattr(importlib.import_module(airflow_idempotent._HOMES[name]), name)
    assert vars(airflow_idempotent)[name] is found


def test_every_home_is_of_a_public_name_and_the_list_is_sorted() -> None:
    assert set(airflow_idempotent._HOMES) | {"__version__"} == set(airflow_idempotent.__all__)
    assert airflow_idempotent.__all__ == sorted(airflow_idempotent.__all__)


# --- strategies ------------------------------------------------------------------------------------


def test_a_strategy_is_one_file_and_one_line_of_the_registry() -> None:
    assert modules_of(strategies) - {"strategy"} == set(STRATEGIES)


@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_strategy_is_registered_explained_and_on_the_page_of_options(kind: str) -> None:
    strategy = STRATEGIES[kind]

    assert strategy().kind == kind
    assert strategy.__module__ == f"airflow_idempotent.strategies.{kind}"
    assert set(strategy.needs) <= {*LoadSpec.model_fields, "partition_column"}
    assert "\n" in (strategy.__doc__ or "")
    assert kind in HEADINGS


# --- checks ----------------------------------------------------------------------------------------


NO_CHECKS = {
    "against",
    "age",
    "aliases",
    "check",
    "condition",
    "expression",
    "facts",
    "hashing",
    "histograms",
    "pairing",
    "threshold",
}
"""Modules that checks are made from."""


def test_a_check_is_one_file_and_one_line_of_the_registry() -> None:
    assert modules_of(checks) - NO_CHECKS == set(CHECKS)


@pytest.mark.parametrize("kind", CHECKS)
def test_a_check_is_registered_explained_and_on_the_page_of_options(kind: str) -> None:
    check = CHECKS[kind]

    assert issubclass(check, Check)
    assert check.kind == kind
    assert check.__module__ == f"airflow_idempotent.checks.{kind}"
    assert check.shorthand in check.__dataclass_fields__
    assert check.__doc__
    assert kind in HEADINGS
    assert check.__name__ in checks.__all__


def test_an_alias_stands_for_a_check_that_exists() -> None:
    assert set(ALIASES.values()) <= set(CHECKS)


# --- actions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", get_args(Action), ids=lambda action: action.__name__)
def test_an_action_says_its_effect_what_stays_and_why_it_is_idempotent(action: type) -> None:
    text = " ".join((action.__doc__ or "").split())

    assert re.search(r"Idempotent because", text)
    assert re.search(r"left alone|Nothing is written", text)

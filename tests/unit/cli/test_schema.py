"""schema: what is generated is current, and says the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_idempotent.spec import reference
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.words import ALIASES
from tests.cli_fixtures import Command
from tests.orders_folder import DEFAULTS, SPEC

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "airflow_idempotent/spec/table.schema.json"
PAGE = ROOT / "docs/spec.md"


@pytest.mark.parametrize(("path", "words"), [(SCHEMA, ()), (PAGE, ("--markdown",))], ids=["schema", "page"])
def test_what_is_generated_is_current(
    command: Command, request: pytest.FixtureRequest, path: Path, words: tuple[str, ...]
) -> None:
    generated = command("schema", *words).out
    if request.config.getoption("--update-golden"):
        path.write_text(generated, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == generated, "pytest tests/unit/cli/test_schema.py --update-golden"


def test_with_json_it_is_the_same_document(command: Command) -> None:
    assert command("schema", "--json").document == json.loads(command("schema").out)
    assert command("schema", "--markdown", "--json").document["markdown"] == command("schema", "--markdown").out


def test_every_option_is_described() -> None:
    models = [TableSpec, *(model for _, model in reference._NESTED)]
    bare = [
        f"{model.__name__}.{name}"
        for model in models
        for name, info in model.model_fields.items()
        if not info.description and name != "kind"
    ]

    assert not bare


def problems(values: Any) -> list[str]:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(reference.json_schema())
    validator.check_schema(reference.json_schema())
    return [error.message for error in validator.iter_errors(as_json(values))]


def as_json(values: Any) -> Any:
    """As an editor sees YAML: dates are text."""
    return json.loads(json.dumps(values, default=str))


@pytest.mark.parametrize("path", sorted((ROOT / "dags/tables").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_example_specs_are_valid(path: Path) -> None:
    assert not problems(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("text", [SPEC, "table: a\n" + DEFAULTS], ids=["spec", "defaults"])
def test_a_spec_is_valid(text: str) -> None:
    assert not problems(yaml.safe_load(text))


@pytest.mark.parametrize(
    "options",
    [
        {"unique_key": "order_id"},
        {"primary_key": ["order_id"]},
        {"start": "2025-05-01", "end": "2025-06-01"},
        {"strategy": {"kind": "merge"}},
        {"strategy": "merge"},
        {"checks": [{"unique": ["order_id"]}, {"row_count": {"min": 1, "severity": "warn"}}, "reconcile"]},
        {"source": {"kind": "query", "sql": "select 1", "conn_id": "shop"}},
    ],
    ids=str,
)
def test_short_forms_and_aliases_are_valid(options: dict[str, Any]) -> None:
    assert not problems({"table": "a.b"} | options)


@pytest.mark.parametrize(
    "options",
    [
        {"verson": "a"},
        {"strategy": "mrege"},
        {"on_empty": "maybe"},
        {"landing": {"rot": "x"}},
        {"checks": [{"uniq": []}]},
    ],
    ids=str,
)
def test_what_lint_refuses_the_editor_refuses(options: dict[str, Any]) -> None:
    assert problems({"table": "a.b"} | options)


def test_every_alias_is_in_the_schema() -> None:
    assert set(ALIASES) <= set(reference.json_schema()["properties"])

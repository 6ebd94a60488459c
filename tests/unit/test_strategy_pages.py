"""The how-to page of a strategy: its spec is one, and its SQL is that of the golden files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from airflow_idempotent.spec.loader import load_mapping

ROOT = Path(__file__).parents[2]
KINDS = ("append", "delete_insert", "insert_only", "insert_overwrite", "merge", "scd2", "snapshot")


def blocks(kind: str, language: str) -> list[str]:
    page = (ROOT / f"docs/how-to/{kind}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("kind", KINDS)
def test_the_spec_of_a_page_is_valid_and_of_its_strategy(kind: str) -> None:
    [spec] = blocks(kind, "yaml")

    assert load_mapping(yaml.safe_load(spec), name=f"{kind}.yaml").strategy.kind == kind


@pytest.mark.parametrize("kind", KINDS)
def test_the_sql_of_a_page_is_on_a_golden_page(kind: str) -> None:
    golden = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/golden" / kind).glob("*.sql"))

    for shown in blocks(kind, "sql"):
        assert shown.rstrip("\n") in golden
    assert blocks(kind, "sql")


def test_the_page_of_exchanged_partitions_shows_a_spec_that_exchanges_them() -> None:
    [spec] = blocks("attach", "yaml")
    strategy = load_mapping(yaml.safe_load(spec), name="attach.yaml").strategy

    assert (strategy.kind, getattr(strategy, "method", "")) == ("insert_overwrite", "attach")

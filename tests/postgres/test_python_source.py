"""What a Python function yields, in the columns of a real table; and the pages that tell of it."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.landing.inputs import PythonInput
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from tests.cli_fixtures import Answer, Command
from tests.loading import DAY, Warehouse

PAGES = Path(__file__).parents[2] / "docs/how-to"

VALUES: list[tuple[str, Any]] = [
    ("bool", True),
    ("int", -7),
    ("float8", 0.1),
    ("float8", float("inf")),
    ("numeric", Decimal("1.50")),
    ("numeric", Decimal("NaN")),
    ("text", 'a "q", b\nc\\d'),
    ("text", ""),
    ("text", "\\."),
    ("bytea", b"\x00\xff"),
    ("date", date(2025, 5, 1)),
    ("timestamp", datetime(2025, 5, 1, 8, 30, 0, 5)),  # noqa: DTZ001
    ("timestamptz", datetime(2025, 5, 1, 8, 30, tzinfo=UTC)),
    ("time", time(8, 30)),
    ("interval", timedelta(days=-1, seconds=5)),
    ("uuid", uuid.UUID(int=7)),
    ("int[]", [1, None, 3]),
    ("int[]", []),
    ("text[]", ["a", "", None, "NULL", 'x "y"', "c,d", "e\\f", "{g}", " h "]),
    ("int[]", [[1, 2], [3, 4]]),
    ("timestamptz[]", [datetime(2025, 5, 1, tzinfo=UTC)]),
    ("jsonb", {"b": [1, None, {"c": "ä"}]}),
    ("jsonb[]", [{"a": 'q"'}]),
]


@pytest.mark.parametrize(("data_type", "value"), VALUES, ids=[f"{kind}-{value!r}"[:40] for kind, value in VALUES])
def test_a_value_comes_back_as_it_was(warehouse: Warehouse, tmp_path: Path, data_type: str, value: Any) -> None:
    columns = [{"name": "id", "data_type": "int"}, {"name": "v", "data_type": data_type}]
    spec = LoadSpec(table="t", unique_key=["id"], columns=columns)
    store, day = BatchStore(tmp_path), spec.partition(DAY)
    source = PythonInput("feeds:rows", lambda: [{"id": 1, "v": value}, {"v": None, "id": 2}])
    landed = land(source, store=store, table=spec.table, partition=day)

    stage_merge(Load(spec, day, landed.manifest), connect=warehouse.connect, batches=store)

    [(_, found), (_, nothing)] = warehouse.sql("SELECT id, v FROM t ORDER BY 1")
    found = bytes(found) if isinstance(found, memoryview) else found
    if data_type == "uuid" and isinstance(found, str):
        found = uuid.UUID(found)  # psycopg2 leaves it a text
    if data_type == "jsonb[]" and isinstance(found, str):
        found = warehouse.sql("SELECT to_json(v) FROM t WHERE id = 1")[0][0]
    assert str(found) == str(value) == "NaN" or found == value
    assert nothing is None


def test_no_rows_empty_nothing_and_need_no_columns(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    spec, store = LoadSpec(table="t", unique_key=["id"]), BatchStore(tmp_path)
    landed = land(PythonInput("feeds:rows", list), store=store, table=spec.table, partition=spec.partition(DAY))

    load = Load(spec, spec.partition(DAY), landed.manifest)
    receipt = stage_merge(load, connect=warehouse.connect, batches=store)

    assert (receipt.effects, receipt.measure.staged_rows) == (Effects(), 0)


# --- the pages of docs/how-to, run as they are -----------------------------------------------------------------


def block(page: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def run(tmp_path: Path, database: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Answer]:
    """Give a way to run the spec of a page for the first day, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", database)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for module in ("feeds", "feeds.shop"):
        monkeypatch.delitem(sys.modules, module, raising=False)

    def load(page: str) -> Answer:
        path = tmp_path / f"dags/tables/{page}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block(page, "yaml"))
        return command("run", str(path), "--partition", DAY, "--root", "lake")

    return load


@pytest.mark.cli
def test_the_page_on_python_functions_runs(run: Callable[[str], Answer], warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "dags/feeds").mkdir(parents=True)
    (tmp_path / "dags/feeds/shop.py").write_text(block("python-source.md", "python"))

    first, again = run("python-source.md"), run("python-source.md")

    assert "loaded: 3 inserted, 0 updated" in first.out
    assert "loaded: 0 inserted, 0 updated, 0 deleted, 3 unchanged" in again.out
    assert warehouse.sql("SELECT amount, tags, details FROM analytics.orders ORDER BY order_id")[0] == (
        Decimal("9.90"),
        ["eu", "web"],
        {"hour": 9},
    )


@pytest.mark.cli
def test_the_page_on_transforms_runs(run: Callable[[str], Answer], warehouse: Warehouse) -> None:
    warehouse.sql("CREATE SCHEMA raw")
    warehouse.sql(
        "CREATE TABLE raw.events "
        "(event_id int, user_id int, event_time timestamptz, ingested_at timestamptz, amount int)"
    )
    event = "INSERT INTO raw.events VALUES (%s, %s, '2025-05-01 08:00Z', '2025-05-01 09:00Z', 5)"
    warehouse.sql(event, [1, 1])
    warehouse.sql(event, [2, 2])

    first, again = run("transform.md"), run("transform.md")
    warehouse.sql(event, [3, 2])
    late = run("transform.md")

    assert "landed: batch 20250501_01, a query" in first.out
    assert "loaded: 2 inserted, 0 updated, 0 deleted, 0 unchanged" in first.out
    assert "loaded: 0 inserted, 0 updated, 0 deleted, 2 unchanged" in again.out
    assert "loaded: 0 inserted, 1 updated, 0 deleted, 1 unchanged" in late.out


@pytest.mark.parametrize("page", ["transform.md", "python-source.md"])
def test_a_page_shows_a_whole_spec(page: str) -> None:
    assert {"table", "source", "columns", "unique_key"} <= set(yaml.safe_load(block(page, "yaml")))

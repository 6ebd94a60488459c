"""lint: every problem of every file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_fixtures import Command
from tests.orders_folder import SPEC, edit


def test_a_good_folder_has_nothing_to_say(folder: Path, command: Command) -> None:
    answer = command("lint", "tables")

    assert (answer.code, answer.out) == (0, "1 file, 0 problems, 0 warnings\n")


def test_all_problems_of_all_files_are_shown(folder: Path, command: Command) -> None:
    edit(folder, "unique_key: [order_id]\nversion", "unique_key: [order]\nverson")
    (folder / "tables/other.yaml").write_text("table: [c\n")

    answer = command("lint", "tables")

    assert answer.code == 1
    assert "tables/orders.yaml: 2 problems" in answer.out
    assert "verson: unknown option, did you mean 'version'?" in answer.out
    assert "unique_key: column 'order' is not in 'columns', did you mean 'order_id'?" in answer.out
    assert "tables/other.yaml: 1 problem\n  - line 2: not YAML" in answer.out
    assert answer.out.endswith("2 files, 3 problems, 0 warnings\n")


def test_one_file_can_be_checked(folder: Path, command: Command) -> None:
    edit(folder, "kind: files", "kind: filse")

    answer = command("lint", "tables/orders.yaml", "--json")

    assert answer.code == 1
    assert [error["file"] for error in answer.document["errors"]] == ["tables/orders.yaml"]


def test_two_files_of_one_table_are_refused_both(folder: Path, command: Command) -> None:
    (folder / "tables/copy.yaml").write_text(SPEC)

    answer = command("lint", "tables")

    assert answer.code == 1
    assert answer.out.count("analytics.orders: claimed by 2 spec files") == 1
    assert "tables/copy.yaml" in answer.out
    assert answer.out.endswith("2 files, 1 problem, 0 warnings\n")


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("version: [updated_at]\n", "", "version: none is given"),
        (SPEC[SPEC.index("checks:") :], "", "checks: none is given"),
        ("partition_by: {column: order_date}\n", "", "partition_by.column: none is given"),
        ("analytics.orders", "analytics." + "o" * 64, "has 64 bytes, PostgreSQL cuts names at 63"),
        ("{name: status", "{name: " + "s" * 61 + "é€", "columns.1.name: "),
    ],
    ids=["version", "checks", "partition column", "table", "column"],
)
def test_what_is_rarely_meant_is_a_warning(folder: Path, command: Command, old: str, new: str, warning: str) -> None:
    edit(folder, old, new)
    if old.startswith("{name: status"):
        edit(folder, "  - not_null: [status]\n", "")

    answer = command("lint", "tables")

    assert warning in answer.out
    assert answer.out.endswith("1 file, 0 problems, 1 warning\n")
    assert (answer.code, command("lint", "tables", "--strict").code) == (0, 1)


@pytest.mark.parametrize("schedule", ["every day", "P", "PT", "61 * * * *", "@dayly"])
def test_a_schedule_that_airflow_would_refuse_is_a_problem(folder: Path, command: Command, schedule: str) -> None:
    edit(folder, "start_date:", f'schedule: "{schedule}"\nstart_date:')

    answer = command("lint", "tables")

    assert answer.code == 1
    assert "schedule: " in answer.out


@pytest.mark.parametrize("schedule", ["30 6 * * 1-5", "P1D", "PT12H", "p1w", "@monthly"])
def test_a_schedule_that_airflow_takes_is_none(folder: Path, command: Command, schedule: str) -> None:
    edit(folder, "start_date:", f'schedule: "{schedule}"\nstart_date:')

    assert command("lint", "tables").code == 0


@pytest.mark.parametrize("text", [b"table: [c\n", b"\xff\xfe"], ids=["not YAML", "not text"])
def test_nothing_that_could_be_read_is_worse_than_findings(folder: Path, command: Command, text: bytes) -> None:
    (folder / "tables/orders.yaml").write_bytes(text)

    assert command("lint", "tables").code == 2


@pytest.mark.parametrize("path", ["nothere", "inbox"])
def test_a_path_without_specs_is_wrong_usage(folder: Path, command: Command, path: str) -> None:
    assert command("lint", path).code == 2


# --- sources that are code -----------------------------------------------------------------------------------

FILES = SPEC[SPEC.index("source:") : SPEC.index("columns:")]
PYTHON = "source: {kind: python, callable: 'feeds.orders:rows'}\n"


def test_a_problem_of_sql_is_told_with_its_line(folder: Path, command: Command) -> None:
    sql = "SELECT order_id, status, now() AS updated_at,\n    order_date,\n    random() AS amount FROM raw.orders"
    edit(folder, FILES, f"source:\n  kind: transform\n  sql: |\n    {sql}\n")

    answer = command("lint", "tables")

    assert answer.code == 1
    assert "tables/orders.yaml: 2 problems" in answer.out
    assert "  - source.sql: line 1: now() gives another value in every run, write :cutoff_ts" in answer.out
    assert "  - source.sql: line 3: random() gives another value in every run" in answer.out


def test_sql_that_may_mean_something_else_is_a_warning(folder: Path, command: Command) -> None:
    sql = "SELECT order_id, string_agg(s, ',') AS status, 1 AS amount, :start::date AS order_date, :end AS updated_at"
    edit(folder, FILES, f"source:\n  kind: transform\n  sql: |\n    {sql} FROM raw.orders GROUP BY order_id\n")

    answer = command("lint", "tables")

    assert (answer.code, command("lint", "tables", "--strict").code) == (0, 1)
    assert "source.sql: line 1: an aggregate that keeps its input's order has no ORDER BY inside it" in answer.out
    assert "version: a row that is computed again with an equal version may lose to the old one" in answer.out


@pytest.mark.parametrize(
    "text",
    [
        "def rows(key):\n    return []\n",
        "async def rows(key): ...\n",
        "from feeds.shop import rows\n",
        "from feeds.shop import all_rows as rows\n",
        "from feeds.shop import *\n",
        "rows = lambda key: []\n",
        "try:\n    from fast import rows\nexcept ImportError:\n    def rows(key): ...\n",
        "if True:\n    rows: object = print\n",
        "def __getattr__(name): ...\n",
    ],
)
def test_a_function_is_found_without_running_its_module(folder: Path, command: Command, text: str) -> None:
    edit(folder, FILES, PYTHON)
    (folder / "feeds").mkdir()
    (folder / "feeds/__init__.py").write_text("raise SystemExit('this was run')\n")
    (folder / "feeds/orders.py").write_text(f"{text}\nraise SystemExit('this was run')\n")

    assert command("lint", "tables").code == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no module 'feeds.orders' (looked below "),
        ("def row(key): ...\n", "module 'feeds.orders' has no 'rows', did you mean 'row'?"),
        ("def all(key):\n    rows = []\n", "module 'feeds.orders' has no 'rows'"),
        ("def rows(:\n", "module 'feeds.orders' cannot be read: "),
    ],
)
def test_a_function_that_is_not_there_is_a_problem(
    folder: Path, command: Command, text: str | None, problem: str
) -> None:
    edit(folder, FILES, PYTHON)
    if text is not None:
        (folder / "feeds").mkdir()
        (folder / "feeds/orders.py").write_text(text)

    answer = command("lint", "tables")

    assert answer.code == 1
    assert f"  - source.callable: {problem}" in answer.out

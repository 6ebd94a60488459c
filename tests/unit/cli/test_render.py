"""render: the SQL, without a database for the table as it would be made."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli_fixtures import Command
from tests.orders_folder import edit

RENDER = ("render", "tables/orders.yaml", "--partition", "2025-05-01")


def test_every_action_is_named_with_what_it_leaves_alone(folder: Path, command: Command) -> None:
    answer = command(*RENDER)

    assert answer.code == 0
    assert re.findall(r"^-- \d+\. (\w+)$", answer.out, re.MULTILINE) == [
        "create_target", "create_staging", "copy_batch", "inspect_batch", "deduplicate", "run_checks", "upsert_rows",
        "measure_partition",
    ]  # fmt: skip
    assert "-- A table that exists is left alone" in answer.out
    assert "-- Rows of 'target' whose key is absent from 'source' are left alone" in answer.out
    assert answer.out.count("BEGIN;") == answer.out.count("COMMIT;") == 2


def test_binds_are_shown_beside_the_text(folder: Path, command: Command) -> None:
    answer = command(*RENDER)

    assert "-- binds: start = 2025-05-01, end = 2025-05-02\nSELECT" in answer.out
    assert '"order_date" >= %(start)s AND "order_date" < %(end)s' in answer.out


def test_as_a_document(folder: Path, command: Command) -> None:
    document = command(*RENDER, "--json").document

    assert (document["partition"], document["target"]) == ("2025-05-01", "as created from 'columns'")
    measured = document["actions"][-1]
    assert (measured["transaction"], measured["action"]) == ("load", "measure_partition")
    assert measured["statements"][0]["binds"] == {"start": "2025-05-01", "end": "2025-05-02"}


def test_without_columns_there_is_no_table_to_think_of(folder: Path, command: Command) -> None:
    text = (folder / "tables/orders.yaml").read_text()
    edit(folder, text[text.index("columns:") : text.index("unique_key:")], "")

    answer = command(*RENDER)

    assert answer.code == 2
    assert "no such table, and the spec has no 'columns'" in answer.err


def test_a_table_without_checks_is_written_in_one_statement(folder: Path, command: Command) -> None:
    text = (folder / "tables/orders.yaml").read_text()
    edit(folder, text[text.index("checks:") :], "")

    actions = [item["action"] for item in command(*RENDER, "--json").document["actions"]]

    assert "deduplicate" not in actions
    assert "run_checks" not in actions


def test_a_partition_that_is_none_is_wrong_usage(folder: Path, command: Command) -> None:
    assert command("render", "tables/orders.yaml", "--partition", "2025-05").code == 2
    assert command("render", "tables/orders.yaml", "--partition", "2025-04-30").code == 2

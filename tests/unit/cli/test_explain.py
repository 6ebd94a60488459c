"""explain: what a spec does, in words that change with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_idempotent.plan.explain import Explanation, explain, inherited_options
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.loader import load_file
from tests.cli_fixtures import Command
from tests.orders_folder import edit


def explained(folder: Path) -> Explanation:
    return explain(load_file(folder / "tables/orders.yaml"))


def test_every_question_has_an_answer(folder: Path, command: Command) -> None:
    answer = command("explain", "tables/orders.yaml")

    assert answer.code == 0
    assert answer.out.startswith("analytics.orders\n")
    for said in (
        "One row per order.",
        'CronDataIntervalTimetable("0 0 * * *", timezone="UTC")',
        "One per day in UTC, the first is 2025-05-01",
        "lake/analytics.orders/partition=2025-05-01/batch=20250501_01/part-00000.csv",
        "updated_at: the greatest wins, NULL is lowest",
        "Nothing is published unless all hold: row_count(min 1); not_null(status)",
        "Recorded only: not_null(amount)",
        "NULL in a column of the key is refused",
        fingerprint(load_file(folder / "tables/orders.yaml")),
    ):
        assert said in " ".join(answer.out.split())


def test_what_defaults_yml_gave_is_marked(folder: Path, command: Command) -> None:
    answer = " ".join(command("explain", "tables/orders.yaml").out.split())

    assert "[defaults.yml: owner]" in answer
    assert "when its partition is run again. [defaults.yml: late_data]" in answer
    assert answer.count("[defaults.yml: ") == 4


def test_only_what_the_file_leaves_open_is_inherited() -> None:
    defaults = {"owner": "a", "landing": {"root": "lake", "keep_batches": 5}, "tags": ["x"]}

    assert inherited_options(defaults, {"owner": "b", "landing": {"root": "/r"}}) == ("landing.keep_batches", "tags")


@pytest.mark.parametrize(
    ("topic", "old", "new", "said"),
    [
        ("schedule", "start_date:", "schedule: null\nstart_date:", "triggered by hand or by a backfill"),
        ("schedule", "start_date:", "schedule: PT6H\nstart_date:", "DeltaDataIntervalTimetable(PT6H)"),
        ("schedule", "start_date:", "catchup: false\nstart_date:", "missed intervals are left out"),
        ("partitions", "start_date:", "end_date: 2025-06-01\nstart_date:", "the last is 2025-05-31"),
        ("partitions", "{column: order_date}", "{column: order_date, grain: month}", "One per month"),
        ("partitions", "start_date:", "timezone: Europe/Berlin\nstart_date:", "2025-04-30T22:00:00+00:00 <= t"),
        ("partitions", "partition_by: {column: order_date}\n", "", "no column says where a row belongs"),
        ("conflict", "version: [updated_at]\n", "", "No version: the newest batch of a partition wins"),
        ("bad data", "  - row_count: {min: 1}\n  - not_null: [status]\n", "", "No check closes the gate."),
        ("empty partition", "start_date:", "on_empty: skip\nstart_date:", "the partition is skipped"),
        ("schema change", "start_date:", "on_schema_change: ignore\nstart_date:", "are left out"),
        ("landing", "start_date:", "landing: {on_source_change: fail}\nstart_date:", "Other content is refused"),
        ("key", "unique_key: [order_id]", "unique_key: [order_id, status]", "order_id, status"),
        ("dag", "start_date:", "dag_id: load_it\ntags: [a, b]\nstart_date:", "load_it, owner data-eng, tags a, b"),
    ],
)  # fmt: skip
def test_the_words_follow_the_spec(folder: Path, topic: str, old: str, new: str, said: str) -> None:
    edit(folder, old, new)

    assert said in explained(folder)[topic]


def test_a_query_is_shown(folder: Path) -> None:
    edit(
        folder,
        '  kind: files\n  path: "inbox/orders/{{ partition.key }}/*.csv"',
        "  {kind: query, conn_id: shop, sql: select 1}",
    )

    assert explained(folder)["source"] == "A query over connection shop: select 1"


def test_the_same_as_data(folder: Path, command: Command) -> None:
    document = command("explain", "tables/orders.yaml", "--json").document

    assert document["table"] == "analytics.orders"
    assert {"name": "late data", "inherited": ["late_data"]}.items() <= document["topics"][11].items()

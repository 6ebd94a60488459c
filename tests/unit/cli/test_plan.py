"""plan: which partitions a range stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli_fixtures import Answer, Command
from tests.orders_folder import edit


@pytest.fixture
def plan(folder: Path, command: Command):
    def run(start: str, end: str, *more: str) -> Answer:
        return command("plan", "tables/orders.yaml", "--from-date", start, "--to-date", end, *more)

    return run


def test_the_end_is_not_included(plan) -> None:
    answer = plan("2025-05-01", "2025-05-03")

    assert answer.code == 0
    assert answer.out.splitlines()[0] == (
        "analytics.orders: 2 partitions in [2025-05-01, 2025-05-03), one per day in UTC"
    )
    assert [line.split()[0] for line in answer.out.splitlines()[3:]] == ["2025-05-01", "2025-05-02"]


def test_as_a_document(plan) -> None:
    document = plan("2025-05-01", "2025-05-02", "--json").document

    assert document["partitions"] == [
        {
            "partition": "2025-05-01",
            "start": "2025-05-01T00:00:00+00:00",
            "end": "2025-05-02T00:00:00+00:00",
            "reason": "asked for by from_date and to_date",
        }
    ]
    assert (document["table"], document["reprocess_behavior"]) == ("analytics.orders", "all")


def test_dates_are_local_to_the_table(folder: Path, plan) -> None:
    edit(folder, "start_date:", "timezone: Europe/Berlin\nstart_date:")

    assert plan("2025-05-01", "2025-05-02", "--json").document["partitions"][0]["start"] == "2025-04-30T22:00:00+00:00"


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ("2025-05-02", "2025-05-02", "from_date must be before to_date"),
        ("2025-05-03", "2025-05-01", "from_date must be before to_date"),
        ("2025-04-30", "2025-05-02", "1 partition(s) lie outside"),
        ("yesterday", "2025-05-02", "--from-date 'yesterday' is not a date"),
        ("2025-05-01", "2025-5-2", "--to-date '2025-5-2' is not a date"),
    ],
)
def test_a_range_that_is_none_is_wrong_usage(plan, start: str, end: str, said: str) -> None:
    answer = plan(start, end)

    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize("behavior", ["missing", "failed", "stale"])
def test_what_the_ledger_must_say_needs_a_database(plan, behavior: str) -> None:
    answer = plan("2025-05-01", "2025-05-02", "--reprocess-behavior", behavior)

    assert answer.code == 2
    assert "Pass --dsn or set AIRFLOW_IDEMPOTENT_DSN" in answer.err

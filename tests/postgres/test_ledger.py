"""The ledger: append-only, one chain per partition, one transaction with the data, and what is read from it."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.core.step import Attempt
from airflow_idempotent.engine import states
from airflow_idempotent.engine.event_values import event_hash
from airflow_idempotent.errors import ConstraintError
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.ledger import EVENT_COLUMNS
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

ORDERS = LoadSpec(table="orders", unique_key=["id"], version=["ver"])


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, ver int)")
    return found


def load_at(warehouse: Warehouse, lane: str, partition: str, ver: Any, **options: Any) -> None:
    warehouse.load(ORDERS, f"id,v,ver\n1,a,{ver}\n", partition=partition, attempt=Attempt(lane=lane), **options)


def test_the_row_of_the_ledger_commits_with_the_data_or_not_at_all(warehouse: Warehouse) -> None:
    warehouse.load(ORDERS, "id,v,ver\n1,a,1\n")
    warehouse.sql("ALTER TABLE orders ADD CHECK (v <> 'bad')")

    with pytest.raises(ConstraintError):
        warehouse.load(ORDERS, "id,v,ver\n1,bad,2\n", revision=2)

    assert [(row[1], row[3]) for row in warehouse.events("public.orders")] == [
        ("20250501_01", "published"),
        ("20250501_02", "failed"),
    ]
    [(xmins,)] = warehouse.sql(
        "SELECT count(DISTINCT x) FROM (SELECT xmin::text AS x FROM orders "
        "UNION ALL SELECT xmin::text FROM airflow_idempotent.events WHERE state = 'published') AS written"
    )
    assert xmins == 1


@pytest.mark.parametrize("table", ["events", "check_results"])
@pytest.mark.parametrize("sql", ["UPDATE {} SET message = ''", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
def test_nothing_written_is_ever_changed(warehouse: Warehouse, table: str, sql: str) -> None:
    warehouse.load(ORDERS, "id,v,ver\n1,a,1\n")

    with pytest.raises(Exception, match="append-only"):
        warehouse.sql(sql.format(f"airflow_idempotent.{table}"))


def test_the_events_of_a_partition_are_a_chain(warehouse: Warehouse) -> None:
    for number in range(3):
        load_at(warehouse, "manual", DAY, number, revision=number + 1)
        load_at(warehouse, "manual", "2025-05-02", number, revision=number + 1)

    with warehouse.session() as cursor:
        cursor.execute("SET timezone TO 'UTC'")
        cursor.execute(
            f"SELECT {', '.join(EVENT_COLUMNS)} FROM airflow_idempotent.events "
            "WHERE partition_key = %s ORDER BY event_id",
            [DAY],
        )
        events = [dict(zip(EVENT_COLUMNS, row, strict=True)) for row in cursor.fetchall()]

    assert [event["previous_hash"] for event in events] == ["", *(event["hash"] for event in events[:-1])]
    assert all(event["hash"] == event_hash(event) for event in events)


@pytest.mark.parametrize(
    "values",
    [
        "'stage_merge', 'published', 5, 1, 0, 'x'",  # 4 rows unaccounted for
        "'stage_merge', 'published', 0, -1, 1, 'x'",  # a count below zero
        "'merge', 'published', 0, 0, 0, 'x'",  # no such step
        "'stage_merge', 'done', 0, 0, 0, 'x'",  # no such state
        "'stage_merge', 'published', 0, 0, 0, ''",  # a second first event
    ],
)
def test_what_cannot_be_true_cannot_be_written(warehouse: Warehouse, values: str) -> None:
    warehouse.load(ORDERS, "id,v,ver\n1,a,1\n")

    with pytest.raises(Exception, match=r"violates (check|unique)|duplicate key"):
        warehouse.sql(
            "INSERT INTO airflow_idempotent.events (table_name, partition_key, partition_start, partition_end, "
            "batch_id, spec_fingerprint, content_fingerprint, lane, hash, "
            "step, state, staged_rows, inserted, updated, previous_hash) "
            f"VALUES ('public.orders', '{DAY}', '2025-05-01', '2025-05-02', 'b_01', '', '', 'manual', 'h', {values})"
        )


def test_a_partition_stands_where_its_newest_event_says(warehouse: Warehouse) -> None:
    manifest = warehouse.batches.land(ORDERS, "id,v,ver\n1,a,1\n")
    seen = []
    for act in (warehouse.load_again, warehouse.validate, warehouse.load_again):
        act(ORDERS, manifest)
        seen += [
            (row["state"], row["inserted"], row["unchanged"]) for row in states.partition_states(warehouse.connect)
        ]

    assert seen == [("published", 1, 0), ("validated", 1, 0), ("published", 0, 1)]


def test_states_are_bounded_by_the_start_of_partitions_half_open(warehouse: Warehouse) -> None:
    for day in ("2025-05-01", "2025-05-02", "2025-05-03"):
        load_at(warehouse, "manual", day, 1)
    start, end = ORDERS.partition("2025-05-02").start, ORDERS.partition("2025-05-03").start

    known = states.known_partitions(warehouse.connect, "public.orders", start, end)

    assert list(known) == ["2025-05-02"]
    assert states.known_partitions(warehouse.connect, "public.other", start, end) == {}


def test_reading_a_database_without_ledger_finds_nothing_and_makes_none(warehouse: Warehouse) -> None:
    assert states.partition_states(warehouse.connect) == []
    assert states.watermarks(warehouse.connect) == []
    assert warehouse.sql("SELECT to_regnamespace('airflow_idempotent')") == [(None,)]


def test_the_watermark_is_of_the_scheduled_lane_only_and_never_goes_back(warehouse: Warehouse) -> None:
    def watermark() -> str:
        [row] = states.watermarks(warehouse.connect)
        return str(row["watermark"])

    load_at(warehouse, "scheduled", DAY, 9)
    load_at(warehouse, "backfill", "2025-04-01", 99)
    load_at(warehouse, "manual", "2025-04-02", 999)
    assert watermark() == "9"
    load_at(warehouse, "scheduled", "2025-05-02", 10)
    load_at(warehouse, "scheduled", DAY, 2, revision=2)
    assert watermark() == "10"


def test_a_watermark_in_the_future_is_capped_at_the_end_of_its_partition(warehouse: Warehouse) -> None:
    warehouse.sql("ALTER TABLE orders ALTER ver TYPE timestamptz USING NULL")
    load_at(warehouse, "scheduled", DAY, "2099-01-01 00:00+00")

    [row] = states.watermarks(warehouse.connect)

    assert row["watermark"] == "2025-05-02 00:00:00+00"


@pytest.mark.parametrize(
    "version", ["2024-02-31", "2024-01-15-rev3", "2024-01-15 and later", "infinity", "", "1e5", "-7.5"]
)
def test_no_text_that_only_looks_like_a_time_breaks_the_watermarks(warehouse: Warehouse, version: str) -> None:
    warehouse.sql("ALTER TABLE orders ALTER ver TYPE text")
    load_at(warehouse, "scheduled", DAY, f'"{version}"')

    [row] = states.watermarks(warehouse.connect)

    assert row["watermark"] == version


def test_checks_and_attempts_are_written_down(warehouse: Warehouse) -> None:
    spec = LoadSpec(table="orders", unique_key="id", version="ver", checks=[{"row_count": {"min": 1}}])

    warehouse.load(spec, "id,v,ver\n1,a,1\n", attempt=Attempt("d", "r", "t", 2, 3, "backfill"))

    assert warehouse.sql("SELECT attempt, lane, min_version, max_version FROM airflow_idempotent.events") == [
        ("d/r/t[2]#3", "backfill", "1", "1")
    ]
    assert warehouse.sql(
        "SELECT check_name, severity, verdict, observed, rows FROM airflow_idempotent.check_results"
    ) == [("row_count(min 1)", "error", "passed", 1, 1)]

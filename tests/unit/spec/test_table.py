"""What a spec says of itself: ids, dates, zones, partitions."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.spec.source import Files, Query
from airflow_idempotent.spec.table import inherit
from tests.unit.spec.orders import LEFT_OUT, orders


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "zone", "instant"),
    [
        ("2025-01-01", "UTC", utc(2025, 1, 1)),
        ("2025-01-01", "Europe/Berlin", utc(2024, 12, 31, 23)),
        (date(2025, 7, 1), "Europe/Berlin", utc(2025, 6, 30, 22)),
        (datetime.fromisoformat("2025-07-01T12:00"), "Europe/Berlin", utc(2025, 7, 1, 10)),
        ("2025-07-01T12:00", "America/New_York", utc(2025, 7, 1, 16)),
        ("2025-07-01 12:00:00+02:00", "America/New_York", utc(2025, 7, 1, 10)),
        ("2025-07-01T12:00:00Z", "America/New_York", utc(2025, 7, 1, 12)),
        ("2023-04-28", "Africa/Cairo", utc(2023, 4, 27, 22)),  # a day without midnight
        ("2017-10-15", "America/Sao_Paulo", utc(2017, 10, 15, 3)),
    ],
)
def test_a_date_is_meant_in_the_zone_of_the_table(written: Any, zone: str, instant: datetime) -> None:
    spec = orders(start_date=written, timezone=zone)

    assert spec.begin.astimezone(UTC) == instant  # Python finds a time that no clock shows equal to nothing
    assert spec.grain.partition(spec.begin, zone).start <= instant


def test_a_table_without_an_end_is_open() -> None:
    assert orders().end is None
    assert orders(end_date="2025-07-01").end == utc(2025, 7, 1)


@pytest.mark.parametrize(
    ("key", "inside"),
    [("2024-12-31", False), ("2025-01-01", True), ("2025-06-30", True), ("2025-07-01", False)],
)
def test_the_range_of_a_table_is_half_open(key: str, inside: bool) -> None:
    spec = orders(end_date="2025-07-01", timezone="Europe/Berlin")

    assert spec.holds(spec.partition(key)) is inside


def test_a_partition_in_which_the_table_begins_or_ends_is_inside() -> None:
    spec = orders(start_date="2025-01-15", end_date="2025-03-15", partition_by={"grain": "month"})

    assert [spec.holds(spec.partition(key)) for key in ("2024-12", "2025-01", "2025-03", "2025-04")] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("schedule", "partition_by", "grain"),
    [
        ("@hourly", {}, Grain.HOUR),
        ("@daily", {}, Grain.DAY),
        ("@weekly", {}, Grain.WEEK),
        ("@monthly", {}, Grain.MONTH),
        ("@yearly", {}, Grain.YEAR),
        ("@monthly", {"column": "order_date"}, Grain.MONTH),
        ("@monthly", {"grain": "day"}, Grain.DAY),
        ("@daily", {"grain": "hour"}, Grain.HOUR),
        ("0 * * * *", {}, Grain.DAY),
        ("P1W", {}, Grain.DAY),
        (None, {}, Grain.DAY),
    ],
)
def test_partitions_are_as_long_as_a_preset_unless_told(
    schedule: str | None, partition_by: dict[str, str], grain: Grain
) -> None:
    assert orders(schedule=schedule, partition_by=partition_by).grain is grain


@pytest.mark.parametrize(
    ("table", "dag_id", "found"),
    [
        ("orders", "", "public.orders"),
        ("analytics.orders", "", "analytics.orders"),
        ('"Sales 2024"."Order"', "", "Sales_2024.Order"),
        ("analytics.orders", "load-orders", "load-orders"),
    ],
)
def test_a_dag_is_named_after_its_table_unless_told(table: str, dag_id: str, found: str) -> None:
    assert orders(table=table, dag_id=dag_id).id == found


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({}, None),
        ({"event_time": "a"}, "a"),
        ({"partition_by": {"column": "b"}}, "b"),
        ({"event_time": "a", "partition_by": {"column": "b"}}, "b"),
    ],
)
def test_a_row_belongs_where_the_partition_column_or_else_the_event_time_says(
    changes: dict[str, Any], column: str | None
) -> None:
    assert orders(**changes).partition_column == column


def test_columns_are_created_as_the_catalogue_spells_them_and_keys_are_never_null() -> None:
    spec = orders(
        columns=[
            {"name": "order_id", "data_type": "INT8"},
            {"name": "amount", "data_type": "decimal(12, 2)", "constraints": ["not_null"]},
            {"name": "note", "data_type": "varchar(10)"},
        ]
    )

    assert spec.created_columns() == (
        Column("order_id", "bigint", nullable=False),
        Column("amount", "numeric(12,2)", nullable=False),
        Column("note", "character varying(10)"),
    )


def test_a_single_name_needs_no_list() -> None:
    assert orders(unique_key="order_id", version="updated_at") == orders(version=["updated_at"])


def test_a_source_takes_its_main_option_without_a_name() -> None:
    assert Files("/inbox/*.csv") == Files(path="/inbox/*.csv")
    assert Query("select 1", conn_id="shop") == Query(sql="select 1", conn_id="shop")
    assert orders(source=Files("/inbox/*.csv")) == orders(source={"kind": "files", "path": "/inbox/*.csv"})


def test_a_spec_cannot_be_changed_once_it_is_made() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        orders().retries = 5  # type: ignore[misc]


def test_a_partition_is_cut_by_grain_and_zone_of_the_table() -> None:
    spec = orders(timezone="Europe/Berlin", partition_by={"grain": "month"})

    assert spec.partition("2025-05").start == utc(2025, 4, 30, 22)
    with pytest.raises(ValueError, match="write it like '2025-05'"):
        spec.partition("2025-05-01")


def test_mappings_are_inherited_option_by_option_and_all_else_is_replaced() -> None:
    below = {"a": {"x": 1, "y": {"p": 1}}, "b": [1, 2], "c": {"x": 1}, "d": 1}
    above = {"a": {"y": {"q": 2}}, "b": [3], "c": "plain", "e": {"x": 1}}

    assert inherit(below, above) == {
        "a": {"x": 1, "y": {"p": 1, "q": 2}},
        "b": [3],
        "c": "plain",
        "d": 1,
        "e": {"x": 1},
    }
    assert below["a"] == {"x": 1, "y": {"p": 1}}


def test_an_option_that_is_left_out_has_its_default() -> None:
    assert orders(retries=LEFT_OUT) == orders() == orders(retries=3, strategy={"kind": "merge"}, tags=[])

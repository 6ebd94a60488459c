"""How far back a run reads, when its input ends, and what is said of rows that come later than that."""

from __future__ import annotations

from logging import INFO, WARNING
from typing import Any

import pytest

from airflow_idempotent.core.step import Measure
from airflow_idempotent.plan.late import consecutive_since, late_lines
from airflow_idempotent.plan.resolve import Run, resolve
from airflow_idempotent.plan.rules import late
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.unit.plan.test_resolve import interval, ranged, utc
from tests.unit.spec.orders import options
from tests.unit.spec.test_late_data import QUERY


def table(**words: Any) -> TableSpec:
    given = {"source": QUERY, "unique_key": ["order_id"], "version": ["updated_at"], **words}
    return load_mapping(options() | given, name="orders.yaml")


def lows(spec: TableSpec, run: Run) -> list[str | None]:
    return [pointer.get("low") for pointer in resolve(spec, run).as_pointers()]


def of_day(watermark: Any = None, **more: Any) -> Run:
    found = interval(utc(2025, 5, 3), utc(2025, 5, 4))
    return Run(**{**{name: getattr(found, name) for name in found.__slots__}, "watermark": watermark, **more})


def test_without_a_watermark_all_from_the_start_date_on_is_read() -> None:
    assert lows(table(), of_day()) == ["2025-01-01T00:00:00+00:00"]


@pytest.mark.parametrize(
    ("late", "watermark", "low"),
    [
        ({}, utc(2025, 5, 2, 12), "2025-05-02T12:00:00+00:00"),
        ({"watermark_lag": "15m"}, utc(2025, 5, 2, 12), "2025-05-02T11:45:00+00:00"),
        ({"lookback": 2}, utc(2025, 5, 2, 12), "2025-05-01T00:00:00+00:00"),
        ({"lookback": 1, "watermark_lag": "3d"}, utc(2025, 5, 2, 12), "2025-04-29T12:00:00+00:00"),
        ({}, utc(2025, 6, 1), "2025-05-03T00:00:00+00:00"),
        ({"watermark_lag": "500d"}, utc(2025, 5, 2), "2025-01-01T00:00:00+00:00"),
    ],
    ids=["ties too", "a lag below", "a lookback", "whichever is lower", "its own partition at least", "start_date"],
)
def test_a_scheduled_run_reads_from_the_watermark_on(late: dict[str, Any], watermark: Any, low: str) -> None:
    assert lows(table(late_data=late), of_day(watermark)) == [low]


@pytest.mark.parametrize(
    ("lag", "watermark", "low"),
    [(None, None, "5"), (None, 40, "40"), (30, 40, "10"), (100, 40, "5"), (10, 0, "5")],
    ids=["the initial value", "ties too", "a lag below", "never before the begin", "zero is a watermark"],
)
def test_by_a_number_it_reads_from_that_number_on(lag: int | None, watermark: Any, low: str) -> None:
    source = QUERY | {"cursor": "order_id", "initial_value": 5}
    spec = table(source=source, event_time="updated_at", late_data={"watermark_lag": lag})

    assert lows(spec, of_day(watermark)) == [low]
    assert lows(spec, of_day(watermark, run_type="backfill")) == [None]


def test_only_scheduled_runs_read_from_a_watermark() -> None:
    mark = utc(2025, 5, 2)

    assert lows(table(), of_day(mark, run_type="backfill")) == [None]
    assert lows(table(), ranged(utc(2025, 5, 1), utc(2025, 5, 3))) == [None, None]


def cutoff(run: Run, **late: Any) -> Any:
    return resolve(table(late_data=late), run).cutoff_ts


def test_input_ends_at_the_planning_or_some_time_after_the_interval() -> None:
    run = of_day(now=utc(2025, 5, 9))

    assert cutoff(run) == utc(2025, 5, 9)
    assert cutoff(run, cutoff="6h") == utc(2025, 5, 4, 6)
    assert cutoff(of_day(now=utc(2025, 5, 4, 1)), cutoff="6h") == utc(2025, 5, 4, 1)
    assert cutoff(of_day(now=utc(2025, 5, 9), cutoff_ts=utc(2025, 5, 5)), cutoff="6h") == utc(2025, 5, 5)


def test_partitions_are_consecutive_unless_some_may_be_left_out() -> None:
    assert consecutive_since(table()) == utc(2025, 1, 1)
    assert consecutive_since(table(catchup=False)) is None
    assert consecutive_since(table(on_empty="skip")) is None
    assert consecutive_since(LoadSpec(table="orders", unique_key="id")) is None


def test_rows_beyond_the_lookback_come_with_a_command_that_reads_their_partitions() -> None:
    measure = Measure(late_rows=2, too_late_rows=3, min_event_time="2025-04-20 10:00:00+00")
    day = table().partition("2025-05-03")

    late, too_late = late_lines(table(late_data={"lookback": 1}), day, measure)

    assert late == (INFO, "late_rows=2: dated before the partition, within the lookback")
    assert too_late[0] == WARNING
    assert too_late[1].endswith(
        """airflow dags trigger analytics.orders --conf '{"from_date": "2025-04-20", "to_date": "2025-05-02"}'"""
    )


@pytest.mark.parametrize("oldest", ["-infinity", None, "0044-03-15 BC"])
def test_a_time_that_no_partition_has_proposes_nothing(oldest: str | None) -> None:
    measure = Measure(too_late_rows=1, min_event_time=oldest)

    [(level, line)] = late_lines(table(), table().partition("2025-05-03"), measure)

    assert (level, "airflow dags trigger" in line) == (INFO, False)


def test_a_batch_without_late_rows_says_nothing() -> None:
    assert late_lines(table(), table().partition("2025-05-03"), Measure()) == ()


def test_an_explanation_says_by_what_a_number_finds_its_partition() -> None:
    source = QUERY | {"cursor": "order_id", "initial_value": 5}
    spec = table(source=source, event_time="updated_at", late_data={"watermark_lag": 30})

    said = late(spec)

    assert "reads from 30 below the watermark on (the greatest order_id published without a gap)" in said
    assert "any other run reads its own partition, by updated_at" in said

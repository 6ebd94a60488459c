"""Options of late data and of incremental queries: how they may be written, and what does not fit together."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_idempotent.errors import SpecError
from airflow_idempotent.spec.durations import duration
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.unit.spec.orders import options

QUERY = {"kind": "query", "conn_id": "shop", "sql": "SELECT * FROM orders", "cursor": "updated_at"}


def table(**words: Any) -> TableSpec:
    given = {"source": QUERY, "unique_key": ["order_id"], "version": ["updated_at"], **words}
    return load_mapping(options() | given, name="orders.yaml")


COLUMNS = [
    {"name": "order_id", "data_type": "int8"},
    {"name": "updated_at", "data_type": "timestamptz"},
]
NUMBERED: dict[str, Any] = {
    "source": QUERY | {"cursor": "order_id", "initial_value": 0},
    "event_time": "updated_at",
}


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("15m", timedelta(minutes=15)),
        ("6h", timedelta(hours=6)),
        (" 1.5 H ", timedelta(minutes=90)),
        ("90s", timedelta(seconds=90)),
        ("2d", timedelta(days=2)),
        ("1w", timedelta(weeks=1)),
        ("PT15M", timedelta(minutes=15)),
        ("P1DT6H", timedelta(hours=30)),
        (0, timedelta(0)),
        (timedelta(hours=1), timedelta(hours=1)),
    ],
)
def test_a_span_of_time_is_written_as_people_do_or_in_iso(text: Any, span: timedelta) -> None:
    assert duration(text) == span


@pytest.mark.parametrize("text", ["15", 15, "soon", "P", "P1DT", "-1h", "", "1h30m"])
def test_what_is_no_span_of_time_is_refused_with_an_example(text: Any) -> None:
    with pytest.raises(ValueError, match="write it like '15m', '6h' or '2d'"):
        duration(text)


def test_an_incremental_query_needs_no_more_than_a_cursor() -> None:
    spec = table()

    assert (spec.late_data.lookback, spec.late_data.cutoff, spec.late_data.watermark_lag) == (0, None, None)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"strategy": "append", "unique_key": []}, "source.cursor: strategy 'append' cannot take batches that overlap"),
        ({"strategy": "snapshot"}, "source.cursor: strategy 'snapshot' cannot take batches that overlap"),
        ({"version": []}, "version: required by source.cursor: batches overlap"),
        ({"source": {**QUERY, "cursor": ""}}, "source.query.cursor"),
        ({"source": {**QUERY, "cursr": "x"}}, "did you mean 'cursor'?"),
        ({"source": {**QUERY, "on_cursor_null": "fail"}}, "source.query.on_cursor_null"),
        (
            {"source": {key: value for key, value in QUERY.items() if key != "cursor"} | {"on_cursor_null": "include"}},
            "on_cursor_null means nothing without 'cursor'",
        ),
        (
            {
                "source": {key: value for key, value in QUERY.items() if key != "cursor"},
                "late_data": {"watermark_lag": "1h"},
            },
            "late_data.watermark_lag: means nothing without source.cursor",
        ),
        ({"late_data": {"cutoff": "PT-1H"}}, "late_data.cutoff"),
        ({"late_data": {"watermark_lag": 60}}, "late_data.watermark_lag: 60 has no unit, write it like '15m'"),
        ({"source": {**QUERY, "initial_value": "0"}}, "source.query.initial_value"),
        (NUMBERED | {"late_data": {"watermark_lag": "1h"}}, "watermark_lag: is a number where the cursor is one"),
        (NUMBERED | {"late_data": {"watermark_lag": -1}}, "late_data.watermark_lag: cannot be negative"),
        (NUMBERED | {"late_data": {"lookback": 1}}, "late_data.lookback: means nothing where the cursor is an integer"),
        (NUMBERED | {"event_time": None}, "event_time: required by source.initial_value"),
        (
            NUMBERED | {"source": {**NUMBERED["source"], "on_cursor_future": "raise"}},
            "on_cursor_future means nothing with 'initial_value'",
        ),
        (
            NUMBERED | {"source": QUERY | {"cursor": "order_id"}, "columns": COLUMNS},
            "source.initial_value: required where the cursor is an integer ('order_id' is bigint)",
        ),
        (
            NUMBERED | {"source": QUERY | {"initial_value": 0}, "columns": COLUMNS},
            "source.initial_value: column 'updated_at' is timestamp with time zone, an integer was expected",
        ),
        ({"late_data": {"lag": "1h"}}, "late_data.lag"),
        (
            {"columns": [{"name": name, "data_type": "text"} for name in ("order_id", "updated_at")],
             "source": {**QUERY, "cursor": "updated"}},
            "source.cursor: column 'updated' is not in 'columns', did you mean 'updated_at'?",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_told(words: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError) as refused:
        table(**words)

    assert problem in str(refused.value)


def test_a_number_takes_a_lag_of_its_own_kind() -> None:
    assert table(**NUMBERED, late_data={"watermark_lag": 1000}).late_data.watermark_lag == 1000

"""Late data through the operators: earlier days are read again, cutoffs are pinned, the log says what happened."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_idempotent import AtomicLandOperator, StageMergeOperator
from airflow_idempotent.operators.plan import PlanOperator
from airflow_idempotent.spec.loader import load_mapping
from tests.airflow.orders import deliver
from tests.airflow.running import DAY, context

Run = dict[str, Any]


def scheduled(day: int, run_id: str = "") -> Run:
    """The context of the scheduled run of that day, counted from 1."""
    run = context(DAY + timedelta(days=day - 1))
    run["ti"].run_id = run_id or f"scheduled {day}"
    return run


def done(words: Mapping[str, Any], run: Run) -> list[dict[str, Any]]:
    """Plan, land and load: the receipts, one per partition."""
    spec = load_mapping(words, name="orders.yaml")
    receipts: list[dict[str, Any]] = []
    for planned in PlanOperator(task_id="plan", spec=spec).execute(dict(run)):
        AtomicLandOperator(task_id="land", spec=spec, planned=planned).execute(dict(run))
        receipts += StageMergeOperator(task_id="stage_merge", spec=spec, planned=planned).execute(dict(run))
    return receipts


@contextmanager
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What is logged in the block, without where."""
    caplog.clear()
    lines: list[str] = []
    with caplog.at_level(logging.INFO):
        yield lines
    lines += [record.getMessage() for record in caplog.records]


def effects(receipt: Mapping[str, Any]) -> dict[str, int]:
    return {name: count for name, count in receipt["effects"].items() if count}


def test_a_run_reads_earlier_days_again_and_rewrites_only_those_that_changed(
    inbox: Path, warehouse: Any, words: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    words |= {"late_data": {"lookback": 2}}
    spec = load_mapping(words, name="orders.yaml")
    for day in (1, 2):
        done(words, scheduled(day))
    (inbox / "2025-05-02" / "late.csv").write_text("order_id,amount,note,order_date\n9,90,late,2025-05-02\n")

    with heard(caplog) as lines:
        receipts = done(words, scheduled(3))

    assert [(item["partition"], effects(item), item["replayed"]) for item in receipts] == [
        ("2025-05-01", {}, True),
        ("2025-05-02", {"inserted": 1, "unchanged": 1}, False),
        ("2025-05-03", {"inserted": 1}, False),
    ]
    assert [item["late_rows"] for item in receipts] == [0, 1, 0]
    [[earlier], *_] = PlanOperator(task_id="plan", spec=spec).execute(scheduled(3))
    assert earlier["reason"] == "lookback: late data, rewritten only if its source changed"
    text = "\n".join(lines)
    assert "land table=public.orders partition=2025-05-02 changed: late.csv: new" in text
    assert "batch=20250501_01 replayed=True: its receipt answers, no row was read or written" in text
    warehouse.execute("select partition_key, late_rows from airflow_idempotent.events where late_rows > 0")
    assert warehouse.fetchall() == [("2025-05-02", 1)]


def test_rows_from_before_the_lookback_are_loaded_and_a_backfill_is_proposed(
    inbox: Path, warehouse: Any, words: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    words |= {"late_data": {"lookback": 1}, "start_date": "2025-04-01"}
    old = "7,70,old,2025-04-28\n8,80,new,2025-05-02\n"
    (inbox / "2025-05-03" / "orders.csv").write_text(f"order_id,amount,note,order_date\n{old}")

    with heard(caplog) as lines:
        receipts = done(words, scheduled(3))

    assert (receipts[-1]["late_rows"], receipts[-1]["too_late_rows"]) == (1, 1)
    [proposal] = [line for line in lines if "too_late_rows" in line]
    assert proposal.endswith(
        "too_late_rows=1: dated before the lookback, the oldest 2025-04-28; they are loaded. To run their partitions "
        'again: airflow dags trigger public.orders --conf \'{"from_date": "2025-04-28", "to_date": "2025-05-02"}\''
    )


def test_a_run_that_is_cleared_weeks_later_asks_with_the_cutoff_of_its_batch(
    inbox: Path, warehouse: Any, words: dict[str, Any]
) -> None:
    cutoffs = [landed_cutoff(inbox, words, scheduled(1)) for _ in range(2)]
    deliver(inbox, "2025-05-01", "1,10,other\n")

    cleared = landed_cutoff(inbox, words, scheduled(1))
    other_run = landed_cutoff(inbox, words, scheduled(1, "another run"), source="3,30,c\n")

    assert cleared == cutoffs[0] == cutoffs[1]
    assert other_run > cleared


def landed_cutoff(inbox: Path, words: Mapping[str, Any], run: Run, source: str = "") -> str:
    """The cutoff in the manifest that the run's landing hands on; planned anew each time."""
    if source:
        deliver(inbox, "2025-05-01", source)
    spec = load_mapping(words, name="orders.yaml")
    [planned] = PlanOperator(task_id="plan", spec=spec).execute(dict(run))
    [pointer] = AtomicLandOperator(task_id="land", spec=spec, planned=planned).execute(dict(run))
    return str(json.loads(Path(pointer["address"]).read_text())["cutoff_ts"])


def test_a_spec_may_end_the_input_some_hours_after_the_interval(inbox: Path, warehouse: Any, words: Any) -> None:
    words |= {"late_data": {"cutoff": "6h"}}

    assert landed_cutoff(inbox, words, scheduled(1)) == "2025-05-02T06:00:00+00:00"


@pytest.fixture
def shop(warehouse: Any, words: dict[str, Any]) -> dict[str, Any]:
    """Give the spec of orders that come by an incremental query."""
    warehouse.execute(
        "create table shop (order_id bigint primary key, amount numeric(12,2), note text, order_date date, "
        "at timestamptz); insert into shop values (1, 10, 'a', '2025-05-01', '2025-05-01 10:00Z'), "
        "(2, 20, 'b', '2025-05-01', '2025-05-01 22:00Z')"
    )
    words["columns"].append({"name": "at", "data_type": "timestamptz"})
    source = {"kind": "query", "conn_id": "warehouse", "sql": "select * from shop", "cursor": "at"}
    return words | {"source": source, "version": ["at"], "late_data": {"watermark_lag": "1h"}}


def test_an_incremental_query_reads_from_a_lag_below_its_watermark(warehouse: Any, shop: dict[str, Any]) -> None:
    first = done(shop, scheduled(1))
    warehouse.execute(
        "insert into shop values (3, 30, 'late', '2025-05-01', '2025-05-01 21:30Z'), "
        "(4, 40, 'tie', '2025-05-01', '2025-05-01 22:00Z'), (5, 50, 'new', '2025-05-02', '2025-05-02 09:00Z')"
    )

    second = done(shop, scheduled(2))

    assert effects(first[0]) == {"inserted": 2}
    assert effects(second[0]) == {"inserted": 3, "unchanged": 1}
    [[planned]] = PlanOperator(task_id="plan", spec=load_mapping(shop, name="orders.yaml")).execute(scheduled(3))
    assert planned["reason"] == (
        "data interval of this scheduled run; watermark 2025-05-02T09:00:00+00:00, "
        "read from 2025-05-02T08:00:00+00:00 on"
    )
    warehouse.execute("select watermark, loaded_until::text from airflow_idempotent.watermarks")
    assert [row[0] for row in warehouse.fetchall()] == ["2025-05-02 09:00:00+00"]


def test_a_cleared_run_of_an_incremental_query_asks_for_the_same_window(warehouse: Any, shop: dict[str, Any]) -> None:
    done(shop, scheduled(1))
    done(shop, scheduled(2))
    windows = "select distinct read_from at time zone 'UTC' from airflow_idempotent.events where partition_key = %s"

    again = done(shop, scheduled(2))

    assert effects(again[0]) == {"unchanged": 1}
    warehouse.execute(windows, ["2025-05-02"])
    assert [str(row[0]) for row in warehouse.fetchall()] == ["2025-05-01 21:00:00"]


def test_history_that_was_changed_under_one_cutoff_is_refused_or_told(
    warehouse: Any, shop: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    done(shop, scheduled(1))
    warehouse.execute("update shop set note = 'forged' where order_id = 2")
    strict = shop | {"landing": {**shop["landing"], "on_source_change": "fail"}}

    with pytest.raises(AirflowFailException, match="1 rows changed, order_id: 2"):
        done(strict, scheduled(1))
    with heard(caplog) as lines:
        done(shop, scheduled(1))

    assert any("the source changed under the same cutoff: 1 rows changed, order_id: 2" in line for line in lines)


def test_a_backfill_of_an_incremental_query_reads_its_partition_and_moves_no_watermark(
    warehouse: Any, shop: dict[str, Any]
) -> None:
    done(shop, scheduled(1))
    run = scheduled(4)
    run["dag_run"].run_type = "backfill"
    warehouse.execute("insert into shop values (6, 60, 'f', '2025-05-04', '2025-05-04 09:00Z')")

    [receipt] = done(shop, run)

    assert effects(receipt) == {"inserted": 1}
    warehouse.execute("select watermark from airflow_idempotent.watermarks")
    assert warehouse.fetchall() == [("2025-05-01 22:00:00+00",)]

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
from airflow.providers.common.compat.sdk import DAG, AirflowFailException, AirflowSkipException, Asset

from airflow_idempotent import AtomicLandOperator, StageMergeOperator, ValidatePartitionOperator
from airflow_idempotent.operators.audit import AuditOperator
from airflow_idempotent.operators.plan import PlanOperator
from airflow_idempotent.spec.loader import load_mapping
from tests.airflow.counting import Backend
from tests.airflow.orders import deliver
from tests.airflow.running import DAY, asset_events, context
from tests.airflow.running import run as run_dag

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


def judged(words: Mapping[str, Any], run: Run) -> list[str]:
    """Plan, land, load and validate: for each partition whether downstream DAGs are told of it, or why not."""
    spec = load_mapping(words, name="orders.yaml")
    found: list[str] = []
    for planned in PlanOperator(task_id="plan", spec=spec).execute(dict(run)):
        AtomicLandOperator(task_id="land", spec=spec, planned=planned).execute(dict(run))
        StageMergeOperator(task_id="stage_merge", spec=spec, planned=planned).execute(dict(run))
        try:
            [receipt] = ValidatePartitionOperator(task_id="validate", spec=spec, planned=planned).execute(dict(run))
            found.append(f"{receipt['partition']} told")
        except AirflowSkipException as skipped:
            found.append(str(skipped).removeprefix("public.orders "))
    return found


def verdicts(warehouse: Any) -> list[str]:
    """The partitions that were validated at full cost, one entry each time."""
    warehouse.execute("select partition_key from airflow_idempotent.events where step = 'validate' order by event_id")
    return [row[0] for row in warehouse.fetchall()]


STANDS = ": unchanged since an earlier run, its verdict stands; no asset event"
AGAIN = ": unchanged since an earlier run, validated again, passed; no asset event"


def test_an_unchanged_earlier_day_is_neither_validated_again_nor_told_again(
    inbox: Path, warehouse: Any, words: dict[str, Any]
) -> None:
    words |= {"late_data": {"lookback": 2}}
    days = [f"2025-05-0{day}" for day in (1, 2, 3)]
    first = [judged(words, scheduled(day)) for day in (1, 2)]
    (inbox / days[1] / "late.csv").write_text("order_id,amount,note,order_date\n9,90,late,2025-05-02\n")

    third = judged(words, scheduled(3))

    assert first == [[f"{days[0]} told"], [f"{days[0]}{STANDS}", f"{days[1]} told"]]
    assert third == [f"{days[0]}{STANDS}", f"{days[1]} told", f"{days[2]} told"]
    assert verdicts(warehouse) == [days[0], days[1], days[1], days[2]]


def test_an_unchanged_day_that_was_never_validated_is(inbox: Path, warehouse: Any, words: dict[str, Any]) -> None:
    words |= {"late_data": {"lookback": 1}}
    done(words, scheduled(1))

    assert judged(words, scheduled(2)) == ["2025-05-01 told", "2025-05-02 told"]


def test_a_cleared_run_tells_again_what_it_may_not_have_told(
    inbox: Path, warehouse: Any, words: dict[str, Any]
) -> None:
    words |= {"late_data": {"lookback": 1}}
    done(words, scheduled(1))
    told = judged(words, scheduled(2))

    assert judged(words, scheduled(2)) == told == ["2025-05-01 told", "2025-05-02 told"]


def test_a_day_into_which_a_later_batch_has_written_is_validated_again(
    inbox: Path, warehouse: Any, words: dict[str, Any]
) -> None:
    words |= {"late_data": {"lookback": 1}}
    judged(words, scheduled(1))
    (inbox / "2025-05-02" / "more.csv").write_text("order_id,amount,note,order_date\n8,80,late,2025-05-01\n")

    second = judged(words, scheduled(2))
    again = judged(words, scheduled(2, "another"))

    assert second == [f"2025-05-01{STANDS}", "2025-05-02 told"]
    assert again == ["2025-05-01 told", "2025-05-02 told"]


def test_a_verdict_of_other_checks_does_not_stand(inbox: Path, warehouse: Any, words: dict[str, Any]) -> None:
    words |= {"late_data": {"lookback": 1}}
    judged(words, scheduled(1))
    words |= {"checks": [{"row_count": {"min": 2}}, {"not_null": ["note"]}]}
    deliver(inbox, "2025-05-02", "3,30,c\n5,50,e\n")

    assert judged(words, scheduled(2)) == [f"2025-05-01{AGAIN}", "2025-05-02 told"]


@pytest.mark.usefixtures("metadata")
def test_no_asset_event_follows_where_nothing_changed(inbox: Path, warehouse: Any, words: dict[str, Any]) -> None:
    spec = load_mapping(words, name="orders.yaml")
    done(words, scheduled(1))
    asset = Asset("idempotent://warehouse/public/looked_back")
    with DAG("looks_back", schedule=None, start_date=DAY) as dag:
        planned = [{"partition": "2025-05-01", "looks_back": True}]
        ValidatePartitionOperator(task_id="validate", spec=spec, planned=planned, outlets=[asset])

    states = [run_dag(dag, DAY + timedelta(days=day)).tasks for day in (1, 2)]

    assert states == [{"validate": "success"}, {"validate": "skipped"}]
    assert [event["partition"] for event in asset_events(asset.uri)] == ["2025-05-01"]


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


def test_late_rows_are_counted_in_metrics_once(
    inbox: Path, warehouse: Any, words: dict[str, Any], stats: Backend
) -> None:
    words |= {"late_data": {"lookback": 1}, "start_date": "2025-04-01"}
    old = "7,70,old,2025-04-28\n8,80,new,2025-05-02\n9,90,new,2025-05-02\n"
    (inbox / "2025-05-03" / "orders.csv").write_text(f"order_id,amount,note,order_date\n{old}")

    done(words, scheduled(3))
    sent = {name: value for name, value in stats.counted().items() if "late" in name}
    stats.sent.clear()
    deliver(inbox, "2025-05-04", "10,10,d\n")
    done(words, scheduled(4))

    assert sent == {"late_rows": 2, "too_late_rows": 1}
    assert "late_rows" not in stats.counted(), "the day looked back at is not loaded again"


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


@pytest.fixture
def numbers(warehouse: Any, words: dict[str, Any]) -> dict[str, Any]:
    """Give the spec of orders that come by an incremental query, in the order of their ids."""
    warehouse.execute(
        "create table shop (order_id bigserial primary key, amount numeric(12,2), note text, order_date date); "
        "insert into shop (amount, note, order_date) values (10, 'a', '2025-05-01'), (20, 'b', '2025-05-01')"
    )
    source = {"kind": "query", "conn_id": "warehouse", "sql": "select * from shop", "cursor": "order_id"}
    return words | {"source": source | {"initial_value": 0}, "version": ["order_id"], "strategy": "insert_only"}


def test_an_integer_cursor_reads_on_from_the_greatest_id(warehouse: Any, numbers: dict[str, Any]) -> None:
    first = done(numbers, scheduled(1))
    warehouse.execute(
        "insert into shop (amount, note, order_date) values (30, 'c', '2025-05-02'), (40, 'late', '2025-05-01')"
    )
    second = done(numbers, scheduled(2))
    cleared = done(numbers, scheduled(2))
    warehouse.execute("insert into shop (amount, note, order_date) values (50, 'd', '2025-05-02')")
    again = done(numbers, scheduled(2))

    assert [effects(receipt) for [receipt] in (first, second, cleared, again)] == [
        {"inserted": 2},
        {"inserted": 2, "unchanged": 1},
        {"unchanged": 3},
        {"unchanged": 3},
    ]
    assert second[0]["late_rows"] + second[0]["too_late_rows"] == 1, "the one read again is not counted"
    [[planned]] = PlanOperator(task_id="plan", spec=load_mapping(numbers, name="o.yaml")).execute(scheduled(3))
    assert (planned["low"], planned["known_until"]) == ("4", "4")


def test_a_backfill_by_an_integer_cursor_reads_its_partition_by_the_time(
    warehouse: Any, numbers: dict[str, Any]
) -> None:
    run = scheduled(1)
    run["dag_run"].run_type = "backfill"
    warehouse.execute("insert into shop (amount, note, order_date) values (30, 'c', '2025-05-02')")

    [receipt] = done(numbers, run)

    assert effects(receipt) == {"inserted": 2}
    warehouse.execute("select cursor_number from airflow_idempotent.watermarks")
    assert warehouse.fetchall() == []


@pytest.mark.parametrize(("kind", "more"), [("shop", ", '2025-05-02 09:00Z'"), ("numbers", "")])
def test_an_audit_asks_an_incremental_query_for_the_window_of_each_batch(
    warehouse: Any, kind: str, more: str, request: pytest.FixtureRequest
) -> None:
    words = request.getfixturevalue(kind) | {"audit": {"sample": "all", "requery": True}}
    done(words, scheduled(1))
    warehouse.execute(f"insert into shop values (9, 90, 'z', '2025-05-02'{more})")
    audits = AuditOperator(task_id="audit", spec=load_mapping(words, name="orders.yaml"))

    before = audits.execute(scheduled(5))
    warehouse.execute("update shop set note = 'forged' where order_id = 1")
    after = audits.execute(scheduled(6))

    assert before == []
    assert [(alarm["cause"], alarm["partitions"]) for alarm in after] == [("source_changed", ["2025-05-01"])]

"""One DAG of the factory: its shape, and what it does when it is run as `airflow dags test` runs it."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import DAG
from airflow.timetables.base import TimeRestriction
from pendulum import instance

from airflow_idempotent import AtomicLandOperator, Files, TableSpec
from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.operators.params import NAMES, run_params
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.publish import Publish
from tests.airflow.conftest import AIRFLOW_2
from tests.airflow.orders import deliver
from tests.airflow.running import DAY, asset_events, effects, run, serialized

TASKS = ["plan", "partition.land", "partition.stage_merge", "partition.validate"]


def intervals(dag: Any, count: int) -> list[tuple[str, str]]:
    """The data intervals of the first scheduled runs."""
    end = instance(dag.end_date) if dag.end_date else None
    within = TimeRestriction(instance(dag.start_date), end, catchup=True)
    found, last = [], None
    while len(found) < count:
        following = dag.timetable.next_dagrun_info(last_automated_data_interval=last, restriction=within)
        if following is None:
            break
        last = following.data_interval
        found.append((f"{last.start:%m-%dT%H:%M}", f"{last.end:%m-%dT%H:%M}"))
    return found


# --- its shape -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "zone", "first"),
    [
        ("@daily", "UTC", ("05-01T00:00", "05-02T00:00")),
        ("@hourly", "UTC", ("05-01T00:00", "05-01T01:00")),
        ("@weekly", "UTC", ("05-05T00:00", "05-12T00:00")),
        ("30 9 * * *", "UTC", ("05-01T09:30", "05-02T09:30")),
        ("@daily", "Europe/Berlin", ("04-30T22:00", "05-01T22:00")),
        ("PT6H", "UTC", ("05-01T00:00", "05-01T06:00")),
        ("P1M", "UTC", ("05-01T00:00", "06-01T00:00")),
    ],
)
def test_every_schedule_has_intervals(schedule: str, zone: str, first: tuple[str, str], words: dict[str, Any]) -> None:
    dag = build_dag(load_mapping(words | {"schedule": schedule, "timezone": zone}, name="o.yaml"))

    assert intervals(dag, 1) == [first]
    assert dag.catchup is True


def test_the_last_interval_of_the_range_runs_and_none_after_it(words: dict[str, Any]) -> None:
    dag = build_dag(load_mapping(words | {"end_date": "2025-05-04"}, name="o.yaml"))

    assert [start for start, _ in intervals(dag, 10)] == ["05-01T00:00", "05-02T00:00", "05-03T00:00"]


def test_without_a_schedule_it_runs_by_hand_only(words: dict[str, Any]) -> None:
    assert not build_dag(load_mapping(words | {"schedule": None}, name="o.yaml")).timetable.can_be_scheduled


def test_options_reach_dag_and_tasks(words: dict[str, Any]) -> None:
    options = {
        "description": "One row per order.\nMore.",
        "owner": "data-eng",
        "tags": ["orders"],
        "pool": "warehouse",
        "retries": 5,
        "retry_delay": 30,
        "max_active_runs": 2,
        "backfill": {"max_active_tasks": 7},
        "catchup": False,
        "dag_id": "the_orders",
    }
    dag = build_dag(load_mapping(words | options, name="o.yaml"), file="tables/orders.yaml")
    load = dag.get_task("partition.stage_merge")

    assert (dag.dag_id, dag.catchup, dag.max_active_runs, set(dag.tags)) == ("the_orders", False, 2, {"orders"})
    assert dag.description == "One row per order."
    assert "More." in dag.doc_md
    assert "tables/orders.yaml" in dag.doc_md
    assert list(dag.task_dict) == TASKS
    assert {(task.owner, task.retries, task.retry_delay) for task in dag.tasks} == {
        ("data-eng", 5, timedelta(seconds=30))
    }
    assert (load.pool, load.max_active_tis_per_dag) == ("warehouse", 7)
    assert dag.get_task("partition.land").pool != "warehouse"


def test_each_param_is_typed_described_and_has_a_default(spec: TableSpec) -> None:
    params = run_params(spec)

    assert tuple(params) == tuple(name for name in NAMES if name not in ("target", "cutover"))
    assert all(param.schema["title"] and param.schema.get("description_md") for param in params.values())
    assert [param.resolve() for param in params.values()] == [None, None, "all", None, False, False, None]


def test_a_table_that_is_swapped_asks_for_the_target_and_ends_with_the_swap(spec: TableSpec) -> None:
    swapped = spec.model_copy(update={"publish": Publish(mode="swap")})
    dag = build_dag(swapped)

    assert tuple(run_params(swapped)) == NAMES
    assert dag.get_task("swap").upstream_task_ids == {"partition.validate", "partition.dual_write"}
    for name in ("partition.dual_write", "partition.validate"):  # side by side: neither waits for the other
        assert dag.get_task(name).upstream_task_ids == {"plan", "partition.land", "partition.stage_merge"}
    assert {"swap", "partition.dual_write"}.isdisjoint(build_dag(spec).task_ids)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("from_date", "2025-05-01", "yesterday"),
        ("reprocess_behavior", "missing", "most"),
        ("dry_run", True, "yes"),
        ("reason", "late data", 7),
    ],
)
def test_the_trigger_form_refuses_what_is_none(name: str, good: Any, bad: Any, spec: TableSpec) -> None:
    param = run_params(spec)[name]

    assert param.resolve(good) == good
    with pytest.raises(Exception, match="is not"):
        param.resolve(bad)


def test_it_survives_serialisation_and_the_spec_is_no_part_of_it(spec: TableSpec) -> None:
    text, back = serialized(build_dag(spec))

    assert list(back.task_dict) == TASKS
    assert "partition_label" in text
    assert "numeric(12,2)" not in text
    assert set(back.params) == set(build_dag(spec).params)


def test_a_copied_task_does_not_copy_all_of_its_spec(spec: TableSpec) -> None:
    dag = build_dag(spec)

    assert all(copy.deepcopy(task).spec.columns is spec.columns for task in dag.tasks)


def test_a_hand_written_operator_can_be_mapped_over_partitions(tmp_path: Any) -> None:
    with DAG("by_hand", schedule=None, start_date=DAY) as dag:
        words = {"source": Files("/inbox/{{ partition.key }}.csv"), "table": "orders"}
        AtomicLandOperator.partial(task_id="land", **words).expand(partition=["2025-05-01", "2025-05-02"])

    _, back = serialized(dag)
    assert list(back.task_dict) == ["land"]


# --- what it does ----------------------------------------------------------------------------------


def rows(warehouse: Any) -> list[Any]:
    warehouse.execute("select order_id, amount, note from orders order by 1")
    return [(order, int(amount), note) for order, amount, note in warehouse.fetchall()]


@pytest.mark.usefixtures("metadata")
def test_a_day_is_loaded_once_however_often_it_is_run(spec: TableSpec, warehouse: Any) -> None:
    dag, asset = build_dag(spec), "idempotent://warehouse/public/orders"
    before = len(asset_events(asset))  # of tables of this name in other tests of the session

    first, again = run(dag, DAY), run(dag, DAY)

    mapped = {f"{task}[0]": "success" for task in TASKS[1:]}
    assert first.tasks == again.tasks == {"plan": "success", **mapped}
    assert rows(warehouse) == [(1, 10, "a"), (2, 20, "b")]
    assert effects(warehouse) == [("2025-05-01", 2, 0, 0), ("2025-05-01", 0, 0, 2)]
    assert first.labels == {None, "2025-05-01"}
    events = asset_events(asset)[before:]
    told = [
        (event["partition"], event["batch_id"], event["row_count"], event["effects"]["inserted"]) for event in events
    ]
    assert told == [("2025-05-01", "20250501_01", 2, 2), ("2025-05-01", "20250501_01", 2, 0)]


@pytest.mark.usefixtures("metadata")
def test_a_range_then_what_is_missing_then_a_dry_run(spec: TableSpec, warehouse: Any, inbox: Any) -> None:
    dag, may = build_dag(spec), {"from_date": "2025-05-02", "to_date": "2025-05-04"}

    loaded = run(dag, DAY, **may)
    nothing = run(dag, DAY + timedelta(days=1), **may, reprocess_behavior="missing")
    deliver(inbox, "2025-05-02", "3,31,c\n")
    dry = run(dag, DAY + timedelta(days=2), **may, dry_run=True)

    assert sorted(loaded.tasks) == sorted(["plan", *(f"{task}[{n}]" for task in TASKS[1:] for n in (0, 1))])
    assert (nothing.state, nothing.tasks) == (
        "success",
        {"plan": "success"} | dict.fromkeys(TASKS[1:], "skipped"),
    )
    assert (dry.state, dry.tasks["partition.validate[0]"]) == ("success", "skipped")
    assert rows(warehouse) == [(3, 30, "c"), (4, 40, "d")]


@pytest.mark.usefixtures("metadata")
def test_a_day_without_input_fails_in_land_and_nothing_follows(spec: TableSpec, warehouse: Any) -> None:
    failed = run(build_dag(spec), datetime(2025, 5, 9, tzinfo=UTC))

    assert failed.state == "failed"
    assert failed.tasks["partition.land[0]"] == "failed"
    assert failed.tasks["partition.stage_merge[0]"] == "upstream_failed"


@pytest.mark.skipif(AIRFLOW_2, reason="on Airflow 2 every run has a logical date")
@pytest.mark.usefixtures("metadata")
def test_a_run_by_hand_without_logical_date_and_params_is_refused(spec: TableSpec, warehouse: Any) -> None:
    dag = build_dag(spec)

    refused = run(dag, None)
    ranged = run(dag, None, from_date="2025-05-01", to_date="2025-05-02")

    assert (refused.state, refused.tasks["plan"]) == ("failed", "failed")
    assert ranged.state == "success"
    assert rows(warehouse) == [(1, 10, "a"), (2, 20, "b")]


@pytest.mark.usefixtures("metadata")
def test_a_run_loads_the_version_that_is_built_too_and_swaps_it_in(words: dict[str, Any], warehouse: Any) -> None:
    run(build_dag(load_mapping(words | {"publish": "swap"}, name="o.yaml")), DAY)
    policy = {"on_schema_change": "append_new_columns", "unique_key": ["order_id", "order_date"]}
    dag = build_dag(load_mapping(words | policy | {"table_version": 2, "publish": "swap"}, name="o.yaml"))

    before = run(dag, DAY + timedelta(days=1))
    range_ = {"from_date": "2025-05-01", "to_date": "2025-05-02"}
    built = run(dag, DAY + timedelta(days=7), **range_, target="shadow")
    both = run(dag, DAY + timedelta(days=2))

    assert (before.tasks["partition.dual_write[0]"], before.tasks["swap"]) == ("skipped", "skipped")
    assert (built.tasks["partition.dual_write[0]"], built.tasks["swap"]) == ("skipped", "skipped")
    assert (both.tasks["partition.dual_write[0]"], both.tasks["swap"]) == ("success", "skipped")
    warehouse.execute("select order_id from orders__v2 order by 1")
    assert warehouse.fetchall() == [(1,), (2,), (4,)]
    rest = run(dag, DAY + timedelta(days=8), from_date="2025-05-02", to_date="2025-05-03", target="shadow")
    assert (rest.state, rest.tasks["swap"]) == ("success", "success")
    assert rows(warehouse) == [(1, 10, "a"), (2, 20, "b"), (3, 30, "c"), (4, 40, "d")]
    warehouse.execute("select table_version from airflow_idempotent.table_versions where state = 'SWAPPED'")
    assert warehouse.fetchall() == [(2,)]


@pytest.mark.usefixtures("metadata")
def test_a_version_that_cannot_be_loaded_leaves_the_run_green(words: dict[str, Any], warehouse: Any) -> None:
    run(build_dag(load_mapping(words | {"publish": "swap"}, name="o.yaml")), DAY)
    dag = build_dag(load_mapping(words | {"table_version": 2, "publish": "swap"}, name="o.yaml"))
    run(dag, DAY + timedelta(days=7), from_date="2025-05-01", to_date="2025-05-02", target="shadow")
    warehouse.execute("select table_version, state from airflow_idempotent.table_versions order by 1")
    assert warehouse.fetchall() == [(1, "RETIRED"), (2, "SWAPPED")]
    warehouse.execute("alter table orders__v1 add check (amount < 25)")

    done = run(dag, DAY + timedelta(days=1))

    assert (done.state, done.tasks["partition.validate[0]"]) == ("success", "success")
    assert done.tasks["partition.dual_write[0]"] == "skipped"
    assert rows(warehouse)[-1] == (3, 30, "c")
    warehouse.execute("select state from airflow_idempotent.partitions where table_version = 1 order by partition_key")
    assert warehouse.fetchall() == [("validated",), ("failed",)]

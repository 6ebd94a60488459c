"""The operators in a hand-written DAG: `op.execute(context)`, no metadata database."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, Asset, ObjectStoragePath

from airflow_idempotent import (
    AtomicLandOperator,
    DeduplicateTableOperator,
    Files,
    Query,
    RollbackOperator,
    StageMergeOperator,
    SwapTableOperator,
    ValidatePartitionOperator,
)
from airflow_idempotent.errors import SourceMissingError, StatementTimeoutError
from airflow_idempotent.operators.plan import PlanOperator
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.airflow.orders import deliver
from tests.airflow.running import DAY, attach_memory, context

WAREHOUSE = {"conn_id": "warehouse", "table": "orders"}
LOAD = {
    **WAREHOUSE,
    "unique_key": ["order_id"],
    "columns": [
        {"name": "order_id", "data_type": "bigint"},
        {"name": "amount", "data_type": "numeric(12,2)"},
        {"name": "note", "data_type": "text"},
        {"name": "order_date", "data_type": "date"},
    ],
    "partition_by": {"column": "order_date"},
    "checks": [{"row_count": {"min": 1}}],
}


def land(inbox: Path, **words: Any) -> AtomicLandOperator:
    given = {"source": Files(f"{inbox}/{{{{ partition.key }}}}/*.csv"), "root": str(inbox.parent / "lake")}
    return AtomicLandOperator(task_id="land", table="orders", **(given | words))


def merge(inbox: Path, **words: Any) -> StageMergeOperator:
    return StageMergeOperator(task_id="stage_merge", **(LOAD | {"root": str(inbox.parent / "lake")} | words))


def check(inbox: Path, **words: Any) -> ValidatePartitionOperator:
    options = {"partition_by": {"column": "order_date"}, "checks": [{"unique": "order_id"}], **words}
    return ValidatePartitionOperator(task_id="validate", root=str(inbox.parent / "lake"), **WAREHOUSE, **options)


def rows(warehouse: Any) -> list[Any]:
    warehouse.execute("select order_id, amount, note from orders order by 1")
    return [(order, int(amount), note) for order, amount, note in warehouse.fetchall()]


# --- what they do ----------------------------------------------------------------------------------


def test_three_operators_load_a_day_and_a_second_run_changes_nothing(inbox: Path, warehouse: Any) -> None:
    pointer = land(inbox).execute(context())
    first = merge(inbox, batch=pointer).execute(context())
    again = merge(inbox, batch=land(inbox).execute(context())).execute(context())
    verdict = check(inbox).execute(context())

    assert pointer | {"address": ""} == {
        "table": "public.orders",
        "partition": "2025-05-01",
        "batch_id": "20250501_01",
        "address": "",
        "rows": 2,
        "bytes": 68,
        "replayed": False,
    }
    assert rows(warehouse) == [(1, 10, "a"), (2, 20, "b")]
    assert first["effects"]["inserted"] == 2
    assert (again["effects"]["inserted"], again["effects"]["updated"], again["effects"]["unchanged"]) == (0, 0, 2)
    assert verdict["state"] == "validated"


def test_what_travels_by_xcom_is_small_and_plain(inbox: Path, warehouse: Any) -> None:
    pointers = [operator.execute(context()) for operator in (land(inbox), merge(inbox), check(inbox))]

    assert len(json.dumps(pointers)) < 2000


def test_object_stores_need_no_other_words(inbox: Path, warehouse: Any) -> None:
    root = "memory://lake"
    attach_memory()
    delivered = ObjectStoragePath("memory://inbox/2025-05-01/a.csv")
    delivered.parent.mkdir(parents=True, exist_ok=True)
    delivered.write_text("order_id,amount,note,order_date\n1,10,a,2025-05-01\n")

    pointer = land(inbox, root=root, source=Files("memory://inbox/{{ partition.key }}/*.csv")).execute(context())
    receipt = merge(inbox, root=None, batch=pointer).execute(context())

    assert pointer["address"].endswith("lake/public.orders/partition=2025-05-01/batch=20250501_01/_manifest.json")
    assert receipt["effects"]["inserted"] == 1


def test_the_manifest_says_which_attempt_landed_it(inbox: Path) -> None:
    pointer = land(inbox).execute(context(try_number=3))

    manifest = json.loads(Path(pointer["address"]).read_text())
    assert manifest["attempt"] == "orders/r1/t#3"
    assert manifest["cutoff_ts"] == "2025-05-31T00:00:00+00:00"


def test_a_query_lands_with_binds(inbox: Path, warehouse: Any) -> None:
    warehouse.execute(
        "create table src as select g as id, timestamptz '2025-05-01 12:00Z' + g * interval '1 day' as at "
        "from generate_series(0, 2) g"
    )
    source = Query(
        "select id, :key as day from src where at >= :start and at < :end and :cutoff_ts > at", conn_id="warehouse"
    )

    pointer = land(inbox, source=source).execute(context())

    part = next(Path(pointer["address"]).parent.glob("part-*"))
    assert part.read_text() == "id,day\n0,2025-05-01\n"


def test_the_source_may_be_a_mapping_and_sees_params_and_airflow_variables(inbox: Path) -> None:
    source = {"kind": "files", "path": f"file://{inbox}/{{{{ ds }}}}/{{{{ params.name }}}}.csv"}

    assert land(inbox, source=source).execute(context(params={"name": "orders"}))["rows"] == 2


def test_the_asset_event_says_what_is_new(inbox: Path, warehouse: Any) -> None:
    land(inbox).execute(context())
    merge(inbox).execute(context())
    asset, run = Asset("idempotent://warehouse/public/orders"), context()

    verdict = check(inbox, outlets=[asset]).execute(run)

    extra = run["outlet_events"][asset].extra
    assert extra == {
        name: verdict[name] for name in ("table", "partition", "batch_id", "effects", "row_count", "digest")
    }
    assert (extra["partition"], extra["row_count"], extra["effects"]["inserted"]) == ("2025-05-01", 2, 2)


# --- which partition -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "partition"),
    [
        (context(DAY), "2025-05-01"),
        (context(DAY.replace(hour=9, minute=30)), "2025-05-01"),
        (context(DAY.replace(hour=9), hours=1), "2025-05-01"),
        (context(DAY, run_type="manual"), "2025-05-01"),
        (context(DAY.replace(hour=9, minute=30), run_type="manual"), "2025-05-01"),
        (context(DAY.replace(hour=14, minute=17), run_type="manual"), "2025-05-01"),
        (context(datetime(2025, 5, 31, 14, tzinfo=UTC), run_type="manual"), "2025-05-30"),
        (context(DAY, run_type="backfill"), "2025-05-01"),
    ],
    ids=["daily", "daily at 9:30", "hourly", "manual", "manual at 9:30", "manual at 14:17", "still open", "adopted"],
)
def test_the_partition_is_what_the_run_means_snapped_to_the_grain(run: Any, partition: str, inbox: Path) -> None:
    deliver(inbox, "2025-05-30", "5,50,e\n")

    assert land(inbox).execute(run)["partition"] == partition


def test_a_partition_named_by_hand_comes_first(inbox: Path) -> None:
    assert land(inbox, partition="2025-05-02").execute(context(None))["partition"] == "2025-05-02"


def test_a_larger_grain_and_another_time_zone(inbox: Path) -> None:
    month = land(inbox, source=Files(f"{inbox}/*/*.csv"), grain="month", timezone="America/New_York")

    assert month.execute(context())["partition"] == "2025-04"


@pytest.mark.parametrize("run", [context(None, run_type="manual"), context(DAY, hours=0)], ids=["missing", "empty"])
def test_without_an_interval_nothing_is_run(run: Any, inbox: Path) -> None:
    with pytest.raises(AirflowFailException, match="nothing was run"):
        land(inbox).execute(run)

    assert not (inbox.parent / "lake").exists()


@pytest.mark.parametrize("lost", ["None", [], [None], [{}]])
def test_where_a_plan_is_lost_no_other_rule_takes_its_place(lost: Any, inbox: Path) -> None:
    with pytest.raises(AirflowFailException, match="the plan of this run is lost"):
        land(inbox, planned=lost).execute(context())


def test_a_key_of_another_grain_is_refused_with_an_example(inbox: Path) -> None:
    with pytest.raises(AirflowFailException, match="'2025-05-01'"):
        land(inbox, partition="May 2025").execute(context())


# --- which batch -----------------------------------------------------------------------------------

STALE = {"table": "public.orders", "partition": "2025-05-02", "batch_id": "20250502_01", "address": "/nowhere"}


@pytest.mark.parametrize("batch", [None, "None", "", [], [None], {}, STALE, {**STALE, "partition": "2025-05-01"}])
def test_a_lost_or_stale_xcom_changes_nothing(batch: Any, inbox: Path, warehouse: Any) -> None:
    land(inbox).execute(context())

    receipt = merge(inbox, batch=batch).execute(context())

    assert receipt["batch_id"] == "20250501_01"
    assert rows(warehouse) == [(1, 10, "a"), (2, 20, "b")]


def test_a_newer_batch_takes_the_place_of_the_one_xcom_names(inbox: Path, warehouse: Any) -> None:
    old = land(inbox).execute(context())
    deliver(inbox, "2025-05-01", "1,11,a\n")
    land(inbox).execute(context())

    assert merge(inbox, batch=old).execute(context())["batch_id"] == "20250501_02"


def test_xcom_tells_where_to_look_when_nobody_else_does(inbox: Path, warehouse: Any) -> None:
    pointer = land(inbox).execute(context())

    assert merge(inbox, root=None, batch=pointer).execute(context())["batch_id"] == "20250501_01"


def test_the_address_of_a_manifest_is_an_order(inbox: Path, warehouse: Any) -> None:
    old = land(inbox).execute(context())
    deliver(inbox, "2025-05-01", "1,11,a\n")
    land(inbox).execute(context())

    assert merge(inbox, batch=old["address"]).execute(context())["batch_id"] == "20250501_01"
    with pytest.raises(AirflowFailException, match=r"not of public\.orders 2025-05-02"):
        merge(inbox, batch=old["address"], partition="2025-05-02").execute(context())


def test_where_nothing_has_landed_nothing_is_loaded(inbox: Path, warehouse: Any) -> None:
    with pytest.raises(AirflowFailException, match="no batch has landed"):
        merge(inbox).execute(context())
    with pytest.raises(AirflowSkipException):
        merge(inbox, on_empty="skip").execute(context())


# --- nothing delivered -----------------------------------------------------------------------------


def test_a_missing_input_is_tried_again_skipped_or_published_as_empty(inbox: Path, warehouse: Any) -> None:
    land(inbox).execute(context())
    merge(inbox).execute(context())

    with pytest.raises(SourceMissingError):
        land(inbox, partition="2025-05-09").execute(context())
    with pytest.raises(AirflowSkipException):
        land(inbox, partition="2025-05-09", on_empty="skip").execute(context())
    empty = land(inbox, partition="2025-05-09", on_empty="publish_empty").execute(context())
    receipt = merge(inbox, partition="2025-05-09", batch=empty, checks=[]).execute(context())

    assert (empty["rows"], receipt["state"], receipt["row_count"]) == (0, "published", 0)


# --- a plan ----------------------------------------------------------------------------------------


def planned(spec: TableSpec, **conf: Any) -> list[list[dict[str, Any]]]:
    run = context(None, run_type="manual")
    run["dag_run"].conf = conf
    found: list[list[dict[str, Any]]] = PlanOperator(task_id="plan", spec=spec).execute(run)
    return found


def test_a_plan_folds_partitions_into_tasks(words: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_mapping(words | {"backfill": {"partitions_per_task": 2}}, name="orders.yaml")

    keys = [
        [pointer["partition"] for pointer in task]
        for task in planned(spec, from_date="2025-05-01", to_date="2025-05-04")
    ]
    assert keys == [["2025-05-01", "2025-05-02"], ["2025-05-03"]]
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "4")
    assert [len(task) for task in planned(spec, from_date="2025-05-01", to_date="2025-06-01")] == [8, 8, 8, 7]


def test_several_partitions_of_a_task_and_one_of_them_without_input(words: dict[str, Any], warehouse: Any) -> None:
    folded = {"on_empty": "skip", "backfill": {"partitions_per_task": 31}}
    spec = load_mapping(words | folded, name="orders.yaml")
    [task] = planned(spec, from_date="2025-05-02", to_date="2025-05-05")
    run = context(None, run_type="manual")

    landed = AtomicLandOperator(task_id="land", spec=spec, planned=task).execute(run)
    receipts = StageMergeOperator(task_id="stage_merge", spec=spec, planned=task, batch=landed).execute(run)

    assert [pointer["partition"] for pointer in receipts] == ["2025-05-02", "2025-05-03"]
    assert rows(warehouse) == [(3, 30, "c"), (4, 40, "d")]
    assert run["partition_label"] == "2025-05-02 … 2025-05-04 (3)"


def test_a_dry_run_counts_exactly_and_leaves_the_table_as_it_was(spec: TableSpec, warehouse: Any, inbox: Path) -> None:
    run = context(None, run_type="manual")
    [real] = planned(spec, from_date="2025-05-01", to_date="2025-05-02")
    [dry] = planned(spec, from_date="2025-05-01", to_date="2025-05-02", dry_run=True)
    for task in (real,):
        AtomicLandOperator(task_id="land", spec=spec, planned=task).execute(run)
        StageMergeOperator(task_id="stage_merge", spec=spec, planned=task).execute(run)
    deliver(inbox, "2025-05-01", "1,11,a\n2,20,b\n9,90,z\n")

    AtomicLandOperator(task_id="land", spec=spec, planned=dry).execute(run)
    [receipt] = StageMergeOperator(task_id="stage_merge", spec=spec, planned=dry).execute(run)
    with pytest.raises(AirflowSkipException):
        ValidatePartitionOperator(task_id="validate", spec=spec, planned=dry).execute(run)

    assert (receipt["effects"]["inserted"], receipt["effects"]["updated"], receipt["dry_run"]) == (1, 1, True)
    assert rows(warehouse) == [(1, 10, "a"), (2, 20, "b")]


def test_a_spec_edited_after_the_plan_stops_the_run_before_it_writes(
    spec: TableSpec, words: dict[str, Any], warehouse: Any
) -> None:
    [task] = planned(spec, from_date="2025-05-01", to_date="2025-05-02")
    edited = load_mapping(words | {"checks": [{"row_count": {"min": 2}}]}, name="orders.yaml")

    for operator in (AtomicLandOperator, StageMergeOperator, ValidatePartitionOperator):
        with pytest.raises(AirflowFailException, match="spec changed while this run was in progress"):
            operator(task_id="t", spec=edited, planned=task).execute(context(None))

    assert not Path(words["landing"]["root"]).exists()


def test_unknown_and_unreadable_params_are_refused_all_at_once(spec: TableSpec) -> None:
    with pytest.raises(AirflowFailException) as refused:
        planned(spec, form_date="2025-05-01", to_date="yesterday", reprocess_behavior="fialed", dry_run="yes")

    text = str(refused.value)
    assert "form_date: unknown param, did you mean 'from_date'?" in text
    assert "to_date: 'yesterday' is not a date, write it like 2025-05-01" in text
    assert "did you mean 'failed'?" in text
    assert "dry_run: 'yes' is neither true nor false" in text


def test_a_range_is_read_in_the_time_zone_of_the_table(words: dict[str, Any]) -> None:
    spec = load_mapping(words | {"timezone": "America/New_York"}, name="orders.yaml")

    [[first], [second]] = planned(spec, from_date="2025-05-01", to_date="2025-05-03")

    assert (first["partition"], second["partition"]) == ("2025-05-01", "2025-05-02")


def test_only_what_the_ledger_misses(spec: TableSpec, warehouse: Any) -> None:
    [task] = planned(spec, from_date="2025-05-02", to_date="2025-05-03")
    run = context(None, run_type="manual")
    AtomicLandOperator(task_id="land", spec=spec, planned=task).execute(run)
    StageMergeOperator(task_id="stage_merge", spec=spec, planned=task).execute(run)

    may = {"from_date": "2025-05-01", "to_date": "2025-05-04"}
    keys = [pointer["partition"] for task in planned(spec, **may, reprocess_behavior="missing") for pointer in task]
    assert keys == ["2025-05-01", "2025-05-03"]
    assert planned(spec, from_date="2025-05-02", to_date="2025-05-03", reprocess_behavior="missing") == []


# --- errors ----------------------------------------------------------------------------------------


def test_nothing_is_looked_at_before_the_task_runs(inbox: Path) -> None:
    merge(inbox, conn_id="no such connection", strategy="no such strategy", root="s3://nowhere")
    land(inbox, source={"kind": "none"})


def test_wrong_words_are_named_with_the_task_and_what_was_meant(inbox: Path) -> None:
    with pytest.raises(AirflowFailException) as refused:
        merge(inbox, strategy="mrege", unique_key=None, checks=[{"unqiue": "a"}]).execute(context())

    text = str(refused.value)
    assert "task 'stage_merge'" in text
    assert "did you mean 'merge'?" in text
    assert "did you mean 'unique'?" in text


def test_a_spec_and_words_beside_it_are_refused(spec: TableSpec, inbox: Path) -> None:
    with pytest.raises(AirflowFailException, match="given beside 'spec'"):
        StageMergeOperator(task_id="t", spec=spec, unique_key=["id"]).execute(context())


def test_a_template_that_names_nothing_is_refused(inbox: Path) -> None:
    with pytest.raises(AirflowFailException, match=r"source\.path"):
        land(inbox, source=Files(f"{inbox}/{{{{ partitoin.key }}}}")).execute(context())


def test_what_no_retry_can_help_fails_at_once_with_our_text(inbox: Path, warehouse: Any) -> None:
    deliver(inbox, "2025-05-01", "1,10,a\n,20,b\n")
    land(inbox).execute(context())

    with pytest.raises(AirflowFailException, match="NULL in the unique key, nothing was loaded") as failed:
        merge(inbox).execute(context())

    assert type(failed.value.__cause__).__name__ == "NullKeyError"


def test_a_killed_task_cancels_its_query(inbox: Path, warehouse: Any) -> None:
    land(inbox).execute(context())
    merge(inbox).execute(context())
    deliver(inbox, "2025-05-01", "1,11,a\n")
    land(inbox).execute(context())
    warehouse.execute("begin; lock table orders in access exclusive mode")
    task = merge(inbox)

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not waiting_for_a_lock(warehouse):
            time.sleep(0.05)
        task.on_kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(StatementTimeoutError):
        task.execute(context())
    killer.join()
    warehouse.execute("rollback")

    assert rows(warehouse) == [(1, 10, "a"), (2, 20, "b")]


def waiting_for_a_lock(warehouse: Any) -> bool:
    warehouse.execute("select count(*) from pg_locks where not granted")
    return bool(warehouse.fetchone()[0])


# --- duplicates --------------------------------------------------------------------------------------


def dedupe(**words: Any) -> DeduplicateTableOperator:
    return DeduplicateTableOperator(task_id="dedupe", **(WAREHOUSE | {"unique_key": ["order_id"]} | words))


def test_duplicates_are_counted_then_removed_and_then_there_are_none(warehouse: Any) -> None:
    warehouse.execute(
        "create table orders as select g % 3 as order_id, g as amount, 'n' || g as note from generate_series(1, 9) g"
    )

    counted = dedupe(version="amount", dry_run=True).execute(context())
    removed = dedupe(version=["amount"], chunk_rows=2).execute(context(None))
    again = dedupe(version=["amount"]).execute(context())

    assert (counted["duplicates"], counted["removed"], counted["dry_run"]) == (6, 0, True)
    assert (removed["rows"], removed["repeated_keys"], removed["removed"], removed["chunks"]) == (9, 3, 6, 3)
    assert (again["duplicates"], again["removed"]) == (0, 0)
    assert again["index_advice"] == 'CREATE UNIQUE INDEX CONCURRENTLY ON "public"."orders"("order_id")'
    assert rows(warehouse) == [(0, 9, "n9"), (1, 7, "n7"), (2, 8, "n8")]
    assert json.loads(json.dumps(removed)) == removed


def test_words_of_deduplication_may_be_templates(warehouse: Any) -> None:
    warehouse.execute(
        "create table orders as select 1 as order_id, g as amount, '' as note from generate_series(1, 3) g"
    )
    run = context(params={"table": "orders", "version": "amount"})
    operator = dedupe(table="{{ params.table }}", version=["{{ params.version }}"], chunk_rows="{{ 1 + 1 }}")

    operator.render_template_fields(run)

    assert operator.execute(run)["removed"] == 2
    assert rows(warehouse) == [(1, 3, "")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"unique_key": []}, "unique_key is empty"),
        ({"table": "a.b.c"}, "'a.b.c' is not a table name"),
        ({"chunk_rows": 0}, "chunk_rows is 0"),
        ({"chunk_rows": "many"}, "many"),
        ({"table": "nowhere"}, "there is no such table"),
    ],
)
def test_what_no_retry_can_help_fails_the_deduplication_at_once(warehouse: Any, words: Any, said: str) -> None:
    with pytest.raises(AirflowFailException, match=said):
        dedupe(**words).execute(context())


# --- versions ----------------------------------------------------------------------------------------


def test_a_table_is_swapped_and_rolled_back_and_a_second_try_finds_it_done(warehouse: Any) -> None:
    warehouse.execute("create table orders as select 1 as order_id; create table new as select 2 as order_id")
    words = {**WAREHOUSE, "shadow": "{{ params.shadow }}", "keep_versions": "{{ 1 }}"}
    run = context(params={"shadow": "new"})
    swaps = SwapTableOperator(task_id="swap", **words)
    swaps.render_template_fields(run)

    done, again = swaps.execute(run), swaps.execute(run)
    back = RollbackOperator(task_id="rollback", **WAREHOUSE).execute(context())

    assert (done["version"], done["retired"], done["replayed"]) == (2, "public.orders__v1", False)
    assert (again["version"], again["replayed"]) == (2, True)
    assert json.loads(json.dumps(done)) == done
    assert (back["version"], back["retired"]) == (1, "public.orders__v2")
    warehouse.execute("select order_id from orders")
    assert warehouse.fetchall() == [(1,)]


def test_a_partition_and_a_view_are_words_of_a_swap_that_may_be_templates(warehouse: Any) -> None:
    warehouse.execute("create table orders (day date, id int) partition by range (day)")
    warehouse.execute("create table may partition of orders for values from ('2025-05-01') to ('2025-06-01')")
    warehouse.execute("create table new as select date '2025-05-02' as day, 2 as id")
    warehouse.execute("create table other as select 1 as id; create table other_new as select 2 as id")
    run = context(params={"month": "2025-05", "by": "view"})
    swaps = [
        SwapTableOperator(task_id="swap", **WAREHOUSE, shadow="new", partition="{{ params.month }}", allow_empty=True),
        SwapTableOperator(task_id="view", **WAREHOUSE | {"table": "other"}, shadow="other_new", by="{{ params.by }}"),
    ]
    for task in swaps:
        task.render_template_fields(run)

    assert [task.execute(run)["table"] for task in swaps] == ["public.may", "public.other"]
    warehouse.execute("select id from orders union all select id from other")
    assert warehouse.fetchall() == [(2,), (2,)]
    warehouse.execute("select relkind::text from pg_class where relname = 'other'")
    assert warehouse.fetchall() == [("v",)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"shadow": "nowhere"}, "there is no such table"),
        ({"shadow": "a.b.c"}, "'a.b.c' is not a table name"),
        ({"version": "two"}, "two"),
        ({"keep_for": "7 moons"}, "'7 moons' is not a span of time"),
        ({"keep_versions": -1}, "cannot be negative"),
        ({"by": "magic"}, "by is 'magic': write 'rename' or 'view'"),
        ({"partition": "May"}, "'May' is no partition: write it like 2025"),
    ],
)
def test_words_of_a_swap_that_make_no_sense_fail_at_once(warehouse: Any, words: dict[str, Any], said: str) -> None:
    warehouse.execute("create table orders as select 1 as order_id")

    with pytest.raises(AirflowFailException, match=said):
        SwapTableOperator(task_id="swap", **WAREHOUSE, **words).execute(context())


def test_the_version_of_a_spec_waits_until_it_is_complete_and_asked_for(warehouse: Any, inbox: Path) -> None:
    land(inbox).execute(context())
    merge(inbox).execute(context())
    source = {"kind": "files", "path": "/nowhere/{{ partition.key }}/*.csv"}
    publish = {"mode": "swap", "cutover": "manual"}
    shadow = {"target": "shadow", "table_version": 2}
    words = {**LOAD, "table_version": 2, "start_date": "2025-05-01", "source": source, "publish": publish}
    swaps = SwapTableOperator(task_id="swap", spec=load_mapping(words, name="orders"))
    asked = context()
    asked["dag_run"].conf = {"cutover": True}

    with pytest.raises(AirflowSkipException, match="waits for a run with the param cutover"):
        swaps.execute(context())
    with pytest.raises(AirflowSkipException, match="it is not built yet"):
        swaps.execute(asked)
    merge(inbox, **shadow).execute(context())
    with pytest.raises(AirflowSkipException, match="partition 2025-05-01 is published"):
        swaps.execute(asked)
    check(inbox, **shadow).execute(context())

    assert swaps.execute(asked)["version"] == 2
    assert swaps.execute(asked)["replayed"]

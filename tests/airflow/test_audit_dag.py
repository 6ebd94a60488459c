"""The DAG that audits a table: one event and one alarm per cause, once; a retry says the same again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent import load_tables
from airflow_idempotent.dag_factory.audit import build_audit_dag
from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.operators import metrics
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.airflow.counting import Backend
from tests.airflow.orders import deliver
from tests.airflow.running import DAY, asset_events, run, serialized

TASKS = ["audit", "drift_event", "alarm"]
DRIFT = "idempotent://warehouse/public/orders/drift"
QUIET = {"audit": "success", "drift_event": "skipped", "alarm": "skipped"}


@pytest.fixture
def audited(words: dict[str, Any]) -> TableSpec:
    return load_mapping(words | {"audit": {"sample": "all"}}, name="orders.yaml")


@pytest.fixture
def loaded(audited: TableSpec, warehouse: Any, metadata: Path) -> Any:
    """Two days of orders are loaded; give a cursor in the warehouse."""
    run(build_dag(audited), DAY, from_date="2025-05-01", to_date="2025-05-03")
    return warehouse


def audit_dag(spec: TableSpec) -> Any:
    dag = build_audit_dag(spec)
    assert dag is not None
    return dag


# --- its shape --------------------------------------------------------------------------------------------------------


def test_a_table_has_an_audit_only_when_its_spec_says_so(spec: TableSpec, audited: TableSpec) -> None:
    assert build_audit_dag(spec) is None

    dag = audit_dag(audited)

    assert (dag.dag_id, dag.catchup, list(dag.task_dict)) == ("public.orders__audit", False, TASKS)
    assert set(dag.params) == {"from_date", "to_date", "sample", "requery"}
    text, back = serialized(dag)
    assert list(back.task_dict) == TASKS
    assert "numeric(12,2)" not in text


def test_a_folder_has_both_dags_and_a_worker_gets_the_one_it_wants(
    words: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yaml

    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/orders.yaml").write_text(yaml.safe_dump(words | {"audit": "@daily"}))
    for wanted, expected in (
        (None, {"public.orders", "public.orders__audit"}),
        ("public.orders", {"public.orders"}),
        ("public.orders__audit", {"public.orders__audit"}),
    ):
        if wanted:
            monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", wanted)
        namespace: dict[str, Any] = {"__file__": str(tmp_path / "dag.py")}
        load_tables("tables", namespace)
        assert {dag.dag_id for name, dag in namespace.items() if name.startswith("idempotent_dag_")} == expected


# --- what it does -----------------------------------------------------------------------------------------------------


def test_after_loads_it_is_quiet(audited: TableSpec, loaded: Any, stats: Backend) -> None:
    before = len(asset_events(DRIFT))

    done = run(audit_dag(audited), DAY)

    assert (done.state, done.tasks) == ("success", QUIET)
    assert len(asset_events(DRIFT)) == before
    assert stats.counted() == {"audit.partitions": 2}


def test_each_cause_is_one_event_and_one_alarm_and_both_come_once(
    audited: TableSpec, loaded: Any, inbox: Path, stats: Backend
) -> None:
    loaded.execute("update orders set note = 'edited'")
    deliver(inbox, "2025-05-02", "3,31,c\n")
    dag, called, before = audit_dag(audited), [], len(asset_events(DRIFT))
    dag.get_task("alarm").on_failure_callback = lambda context: called.append(str(context["exception"]))

    first, second = run(dag, DAY), run(dag, DAY + timedelta(days=7))

    assert (first.state, second.state) == ("failed", "success")
    assert {name for name, state in first.tasks.items() if state == "failed"} == {"alarm[0]", "alarm[1]"}
    assert {name for name, state in first.tasks.items() if state == "success"} == {
        "audit",
        "drift_event[0]",
        "drift_event[1]",
    }
    assert second.tasks == QUIET
    assert {"source_changed", "target_changed"} <= first.labels
    assert sorted(text.splitlines()[0] for text in called) == [
        "public.orders: source changed since it was published, in 1 partition; nothing was written.",
        "public.orders: target changed since it was published, in 2 partitions; nothing was written.",
    ]
    events = sorted(asset_events(DRIFT)[before:], key=lambda event: event["cause"])
    assert [(event["cause"], event["partitions"]) for event in events] == [
        ("source_changed", ["2025-05-02"]),
        ("target_changed", ["2025-05-01", "2025-05-02"]),
    ]
    counted = [
        (name.rpartition("drift.")[2], value)
        for kind, name, value, _ in stats.sent
        if kind == "incr" and "drift" in name
    ]
    assert counted == [("source_changed", 1), ("target_changed", 2)]
    gauges = [value for kind, name, value, _ in stats.sent if kind == "gauge" and name.endswith("open.target_changed")]
    assert gauges == [2, 2]


def test_loading_what_has_drifted_heals_it(audited: TableSpec, loaded: Any, inbox: Path) -> None:
    deliver(inbox, "2025-05-02", "3,31,c\n")
    assert run(audit_dag(audited), DAY).state == "failed"
    ranged = {"from_date": "2025-05-01", "to_date": "2025-05-03", "reprocess_behavior": "drifted"}

    healing = run(build_dag(audited), DAY + timedelta(days=1), **ranged)

    assert {name for name in healing.tasks if "stage_merge" in name} == {"partition.stage_merge[0]"}
    assert healing.labels == {None, "2025-05-02"}
    assert run(audit_dag(audited), DAY + timedelta(days=7)).tasks == QUIET


@pytest.mark.parametrize(
    ("audit", "edit", "state"),
    [
        ({"on_drift": "warn"}, {}, "success"),
        ({}, {"on_empty": "skip"}, "success"),  # a spec that was changed on purpose
    ],
    ids=["on_drift: warn", "spec changed"],
)
def test_what_is_no_alarm_is_an_event_all_the_same(
    words: dict[str, Any], loaded: Any, audit: dict[str, Any], edit: dict[str, Any], state: str
) -> None:
    spec, before = (
        load_mapping(words | edit | {"audit": audit | {"sample": "all"}}, name="o.yaml"),
        len(asset_events(DRIFT)),
    )
    if not edit:
        loaded.execute("delete from orders where order_id = 1")

    done = run(audit_dag(spec), DAY)

    assert (done.state, done.tasks["alarm[0]"]) == (state, "success")
    assert [event["cause"] for event in asset_events(DRIFT)[before:]] == ["spec_changed" if edit else "target_changed"]


def test_a_param_nobody_knows_fails_it_before_anything_is_read(audited: TableSpec, loaded: Any) -> None:
    assert run(audit_dag(audited), DAY, sampel="all").tasks["audit"] == "failed"


def test_a_load_is_counted_and_one_that_is_left_alone_is_not(
    audited: TableSpec, warehouse: Any, metadata: Path, stats: Backend
) -> None:
    dag, ranged = build_dag(audited), {"from_date": "2025-05-01", "to_date": "2025-05-02"}

    run(dag, DAY, **ranged)
    run(dag, DAY + timedelta(days=1), **ranged)

    assert stats.sent == [
        ("incr", "airflow_idempotent.loads", 1, {"table": "public.orders"}),
        ("incr", "airflow_idempotent.rows.inserted", 2, {"table": "public.orders"}),
    ]


def test_airflow_itself_takes_the_metrics() -> None:
    metrics.count("loads", table="public.orders")
    metrics.gauge("drift.open.target_changed", 0, table="public.orders")

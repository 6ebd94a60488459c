"""One spec, one DAG: plan, then for each partition land, stage_merge, validate."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import DAG, task_group
from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_1_PLUS

from airflow_idempotent.dag_factory.documentation import documentation
from airflow_idempotent.dag_factory.schedule import last_instant, timetable
from airflow_idempotent.operators.assets import input_assets, table_asset
from airflow_idempotent.operators.base import LABEL
from airflow_idempotent.operators.dual_write import DualWriteOperator
from airflow_idempotent.operators.land import AtomicLandOperator
from airflow_idempotent.operators.params import run_params
from airflow_idempotent.operators.plan import PlanOperator
from airflow_idempotent.operators.stage_merge import StageMergeOperator
from airflow_idempotent.operators.swap import SwapTableOperator
from airflow_idempotent.operators.validate import ValidatePartitionOperator
from airflow_idempotent.spec.table import TableSpec


def build_dag(spec: TableSpec, *, file: str = "") -> DAG:
    """The DAG of a table. It serves schedule, catch-up, backfills, manual runs and single-task retries alike.

    ``file`` is where the spec was read from, for the documentation.

    Raises:
        SpecError: the schedule is no schedule.
    """
    schedule, end_date = timetable(spec), last_instant(spec)
    with DAG(
        dag_id=spec.id,
        description=(spec.description.strip().splitlines() or [f"Loads {spec.table}."])[0],
        doc_md=documentation(spec, file),
        schedule=schedule,
        start_date=spec.begin.astimezone(UTC),
        end_date=end_date.astimezone(UTC) if end_date else None,
        catchup=spec.catchup,
        max_active_runs=spec.max_active_runs,
        tags=list(spec.tags),
        params=run_params(spec),
        default_args=_task_defaults(spec),
        auto_register=False,  # a DAG is found where it is put, and not before it is known to be right
    ) as dag:
        _tasks(spec)
    return dag


def _task_defaults(spec: TableSpec) -> dict[str, Any]:
    """No exponential back-off: Airflow counts tries through clears, and a partition cleared often would wait long."""
    return {
        "owner": spec.owner,
        "retries": spec.retries,
        "retry_delay": timedelta(seconds=spec.retry_delay),
    }


def _tasks(spec: TableSpec) -> None:
    """Task ids never depend on options, so that a run can be cleared after its spec was edited."""
    plan = PlanOperator(task_id="plan", spec=spec, doc_md="Which partitions this run means.")
    writing: dict[str, Any] = {"pool": spec.pool} if spec.pool else {}

    @task_group(group_id="partition", tooltip="One partition each")  # type: ignore[untyped-decorator, unused-ignore]
    def partition(planned: Any) -> None:
        land = AtomicLandOperator(task_id="land", spec=spec, planned=planned, map_index_template=LABEL)
        load = StageMergeOperator(
            task_id="stage_merge",
            spec=spec,
            planned=planned,
            batch=land.output,
            map_index_template=LABEL,
            max_active_tis_per_dag=spec.backfill.max_active_tasks,
            inlets=input_assets(spec),
            **writing,
        )
        check = ValidatePartitionOperator(
            task_id="validate",
            spec=spec,
            planned=planned,
            batch=land.output,
            inlets=input_assets(spec),
            outlets=[table_asset(spec)],
            map_index_template=LABEL,
        )
        land >> load >> check
        if spec.publish.mode == "swap":
            # Beside validate, not before it: downstream DAGs wait for the live table alone.
            load >> DualWriteOperator(
                task_id="dual_write",
                spec=spec,
                planned=planned,
                batch=land.output,
                map_index_template=LABEL,
                max_active_tis_per_dag=spec.backfill.max_active_tasks,
                inlets=input_assets(spec),
                **writing,
            )

    loaded = partition.expand(planned=plan.output)
    if spec.publish.mode == "swap":
        _swap(spec, loaded)


def _swap(spec: TableSpec, loaded: Any) -> None:
    """The end of each run: the version goes live when it is ready, and, where that is asked for, somebody said yes."""
    words: dict[str, Any] = {"spec": spec, "trigger_rule": "none_failed"}
    if spec.publish.cutover == "manual" and AIRFLOW_V_3_1_PLUS:
        from airflow_idempotent.operators.approve import ApproveCutoverOperator

        asks = ApproveCutoverOperator(task_id="approve", **words, doc_md="Asks somebody when the new version is ready.")
        loaded >> asks
        words["approval"] = asks.output
    loaded >> SwapTableOperator(task_id="swap", **words, doc_md="Makes the new version live when it is ready.")

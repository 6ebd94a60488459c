"""The DAG that audits a table: look, then one event and one alarm per cause of drift."""

from __future__ import annotations

from datetime import UTC, timedelta

from airflow.providers.common.compat.sdk import DAG

from airflow_idempotent.dag_factory.schedule import timetable
from airflow_idempotent.operators.assets import drift_asset, table_asset
from airflow_idempotent.operators.audit import AlarmOperator, AuditOperator, DriftEventOperator
from airflow_idempotent.operators.audit_params import audit_params
from airflow_idempotent.spec.audit import Audit
from airflow_idempotent.spec.table import TableSpec

LABEL = "{{ cause | default('') }}"

DOCUMENTATION = """
Compares published partitions of `{table}` with their source (`source_changed`), the table with the ledger
(`target_changed`, `schema_changed`), landed batches with their manifests (`batch_damaged`), and the spec with the one
that loaded them (`spec_changed`). It writes no row: findings go to `airflow_idempotent.drift`.

A cause that is found first is one event of `{asset}` and one mapped task `alarm`, which fails where `audit.on_drift`
is `fail`. What is open already alarms no second time. **Mend it**: trigger `{loads}` with `reprocess_behavior: drifted`
for a range, or let the table be right as it is by `airflow-idempotent reconcile SPEC --accept --apply`.
"""


def build_audit_dag(spec: TableSpec, *, file: str = "") -> DAG | None:
    """The DAG that audits the table; None when its spec asks for none.

    Raises:
        SpecError: the schedule of the audit is no schedule.
    """
    if spec.audit is None:
        return None
    drift = drift_asset(spec)
    said = DOCUMENTATION.format(table=spec.table, asset=drift.uri, loads=spec.id)
    with DAG(
        dag_id=spec.audit_id,
        description=f"Audits {spec.table}: is it still what was published?",
        doc_md=said + (f"\nSpec: `{file}`" if file else ""),
        schedule=timetable(spec, "audit.schedule"),
        start_date=spec.begin.astimezone(UTC),
        catchup=False,
        max_active_runs=1,
        tags=[*spec.tags, "audit"],
        params=audit_params(spec),
        default_args={
            "owner": spec.owner,
            "retries": spec.retries,
            "retry_delay": timedelta(seconds=spec.retry_delay),
        },
        auto_register=False,
    ) as dag:
        _tasks(spec, spec.audit, drift)
    return dag


def _tasks(spec: TableSpec, audit: Audit, drift: object) -> None:
    """Task ids never depend on options, so that a run can be cleared after its spec was edited."""
    look = AuditOperator(task_id="audit", spec=spec, inlets=[table_asset(spec)], doc_md="Looks; writes no row.")
    DriftEventOperator.partial(task_id="drift_event", outlets=[drift], map_index_template=LABEL).expand(
        alarm=look.output
    )
    AlarmOperator.partial(task_id="alarm", on_drift=audit.on_drift, loads=spec.id, map_index_template=LABEL).expand(
        alarm=look.output
    )

"""The three tasks of an audit: look, tell other DAGs, raise the alarm. Only the ledger is written to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from airflow.providers.common.compat.sdk import Asset, BaseOperator, Context

from airflow_idempotent.core.audit import Cause, Due, Finding, Report, SourceVerdict
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.engine.audit import Asked, audit
from airflow_idempotent.errors import DriftError
from airflow_idempotent.landing.code import bounds_of, python_input, query_input
from airflow_idempotent.landing.inputs import Input
from airflow_idempotent.landing.recheck import recheck
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.operators.audit_params import AuditParams, read_audit_params
from airflow_idempotent.operators.base import airflow_errors
from airflow_idempotent.operators.connections import Connections, landing_root, storage_path
from airflow_idempotent.operators.metrics import count, gauge
from airflow_idempotent.operators.run import attempt_of
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.source import Files, Query
from airflow_idempotent.spec.table import TableSpec

SHOWN, HANDED_ON = 5, 100
"""Partitions of one cause in the text of an alarm, and in XCom and asset events."""


class AuditOperator(BaseOperator):
    """Audits a sample of a table's published partitions; hands on one mapping per cause that it has found first.

    What an earlier run has found is open until it is healed, and is not handed on again; a retry or a clear of
    this run hands on what the run has found. No row of the table is written.

    :param spec: The table's spec, with ``audit``.
    """

    shallow_copy_attrs: Sequence[str] = ("spec",)
    ui_color = "#efe3f3"

    def __init__(self, *, spec: TableSpec, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """One mapping per new cause: table, cause, count, partitions, examples."""
        self.connections = Connections()
        with airflow_errors():
            params = read_audit_params(self.spec, getattr(context.get("dag_run"), "conf", None))
            report = self._audited(params, context)
        self._tell(report)
        return [_alarm(report.table, cause, found) for cause, found in report.by_cause().items()]

    def on_kill(self) -> None:
        """Cancel the query that runs; what was audited before is kept."""
        if (opened := getattr(self, "connections", None)) is not None:
            opened.cancel()

    def _audited(self, params: AuditParams, context: Context) -> Report:
        spec, store = self.spec, BatchStore(landing_root(self.spec.landing.root))
        conn_id = spec.source.conn_id if isinstance(spec.source, Files) else None

        def again(partition: Partition, manifest: Manifest) -> Input | None:
            return self._input(partition, manifest, context) if params.requery else None

        def compare(due: Due, partition: Partition) -> SourceVerdict:
            return recheck(
                store, spec.table, due, partition, open_path=lambda text: storage_path(text, conn_id), again=again
            )

        attempt = attempt_of(context, "manual")
        asked = Asked(f"{attempt.dag_id}/{attempt.run_id}", params.sample, params.from_date, params.to_date)
        connect = self.connections.warehouse(spec.conn_id)
        return audit(spec, asked, connect=connect, compare_source=compare, attempt=attempt)

    def _input(self, partition: Partition, manifest: Manifest, context: Context) -> Input | None:
        """What the spec would land now, with the cutoff that was pinned for the batch."""
        source = self.spec.source
        cutoff_ts = datetime.fromisoformat(manifest.cutoff_ts) if manifest.cutoff_ts else partition.end
        if isinstance(source, Python):
            return python_input(self.spec, source, partition, cutoff_ts=cutoff_ts, params={})
        if not isinstance(source, Query):
            return None
        variables: Any = {**context, "partition": partition}
        sql = str(self.render_template(source.sql, variables))
        low, high = bounds_of(partition, manifest.window)
        connect = self.connections.source(source.conn_id)
        return query_input(self.spec, source, partition, sql, cutoff_ts, low, connect, high=high)

    def _tell(self, report: Report) -> None:
        table = report.table
        self.log.info(
            "audit table=%s partitions=%d of %d, new=%d open=%d closed=%d",
            table,
            len(report.looks),
            report.published,
            len(report.new),
            len(report.findings),
            report.closed,
        )
        count("audit.partitions", len(report.looks), table=table)
        grouped = report.by_cause(new=False)
        for cause in Cause:
            found = grouped.get(cause, ())
            count(f"drift.{cause}", sum(item.is_new for item in found), table=table)
            gauge(f"drift.open.{cause}", len(found), table=table)


class DriftEventOperator(BaseOperator):
    """Emits the asset event of one cause, for DAGs that mend what was found.

    :param alarm: What the audit handed on of one cause.
    """

    template_fields: Sequence[str] = ("alarm",)
    ui_color = "#efe3f3"

    def __init__(self, *, alarm: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alarm = alarm

    def execute(self, context: Context) -> None:
        """Put the facts into the event of each outlet."""
        variables: Any = context
        variables["cause"] = self.alarm["cause"]
        events = context.get("outlet_events")
        for outlet in self.outlets:
            if events is not None and isinstance(outlet, Asset):
                events[outlet].extra = {name: self.alarm[name] for name in ("table", "cause", "partitions", "count")}


class AlarmOperator(BaseOperator):
    """Fails for one cause, so that whoever is called for a failed task is called once for it.

    :param alarm: What the audit handed on of one cause.
    :param on_drift: ``fail``, or ``warn`` to only log it.
    :param loads: The id of the DAG that loads the table.
    """

    template_fields: Sequence[str] = ("alarm",)
    ui_color = "#efe3f3"

    def __init__(self, *, alarm: Any, on_drift: str = "fail", loads: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alarm = alarm
        self.on_drift = on_drift
        self.loads = loads

    def execute(self, context: Context) -> None:
        """Say what was found; a changed spec is no alarm."""
        variables: Any = context
        variables["cause"] = self.alarm["cause"]
        error = DriftError(
            table=self.alarm["table"],
            cause=self.alarm["cause"],
            count=self.alarm["count"],
            examples=tuple((key, message) for key, message in self.alarm["examples"]),
            dag_id=self.loads,
        )
        if self.on_drift == "fail" and Cause(error.cause).alarms:
            with airflow_errors():
                raise error
        self.log.warning("%s", error)


def _alarm(table: str, cause: Cause, found: Sequence[Finding]) -> dict[str, Any]:
    """One cause as it travels through XCom: plain values, and not more of them than anybody reads."""
    return {
        "table": table,
        "cause": cause.value,
        "count": len(found),
        "partitions": [item.partition for item in found[:HANDED_ON]],
        "examples": [[item.partition, item.message] for item in found[:SHOWN]],
    }

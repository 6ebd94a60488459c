"""PlanOperator: decides once which partitions a run means, and pins what its retries must not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from typing import Any

from airflow.providers.common.compat.sdk import BaseOperator, Context, conf

from airflow_idempotent.engine.states import known_partitions, watermark_of
from airflow_idempotent.operators.base import airflow_errors
from airflow_idempotent.operators.connections import Connections
from airflow_idempotent.operators.params import RunParams, read_params
from airflow_idempotent.operators.run import run_of
from airflow_idempotent.plan.resolve import Known, Plan, Run, resolve
from airflow_idempotent.spec.source import Query
from airflow_idempotent.spec.table import TableSpec


class PlanOperator(BaseOperator):
    """Resolves the partitions of a run, folded into as many lists as there will be mapped tasks.

    Only reads: the params and the interval of the run, and the ledger when the params ask for it or the table is
    fed by an incremental query, whose watermark is pinned here.

    :param spec: The table's spec.
    """

    shallow_copy_attrs: Sequence[str] = ("spec",)
    ui_color = "#eee"

    def __init__(self, *, spec: TableSpec, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec

    def execute(self, context: Context) -> list[list[dict[str, Any]]]:
        """One pointer per partition, ``partitions_per_task`` of them to a list."""
        with airflow_errors():
            params = read_params(self.spec, getattr(context.get("dag_run"), "conf", None))
            asked = _asked_for(run_of(context, datetime.now(UTC)), params)
            plan = self._plan(asked, self.spec.table_version if params.target == "shadow" else None)
        self._tell(plan, params)
        pointers = plan.as_pointers()
        if params.dry_run:
            pointers = [{**pointer, "dry_run": True} for pointer in pointers]
        if params.target == "shadow":
            pointers = [{**pointer, "target": "shadow"} for pointer in pointers]
        return _folded(pointers, self.spec.backfill.partitions_per_task)

    def _plan(self, run: Run, version: int | None) -> Plan:
        known: dict[str, Known] = {}
        if run.reprocess.needs_ledger and run.from_date and run.to_date:
            first = self.spec.grain.partition(run.from_date, self.spec.timezone)
            connect = Connections().warehouse(self.spec.conn_id)
            known = known_partitions(connect, self.spec.table, first.start, run.to_date, version)
        source = self.spec.source
        if run.run_type == "scheduled" and isinstance(source, Query) and source.cursor:
            connect = Connections().warehouse(self.spec.conn_id)
            run = replace(run, watermark=watermark_of(connect, self.spec.table, source.cursor))
        return resolve(self.spec, run, known)

    def _tell(self, plan: Plan, params: RunParams) -> None:
        self.log.info(
            "plan table=%s partitions=%d lane=%s cutoff=%s spec=%s dry_run=%s reason=%s",
            plan.table,
            len(plan.partitions),
            plan.lane,
            plan.cutoff_ts.isoformat(),
            plan.spec_fingerprint[:12],
            params.dry_run,
            params.reason or "-",
        )
        for item in plan.partitions:
            self.log.info("plan table=%s partition=%s: %s", plan.table, item.partition, item.reason)


def _asked_for(run: Run, params: RunParams) -> Run:
    return replace(
        run,
        from_date=params.from_date,
        to_date=params.to_date,
        reprocess=params.reprocess,
        cutoff_ts=params.cutoff_ts,
        force=params.force,
    )


def _folded(pointers: list[dict[str, Any]], per_task: int) -> list[list[dict[str, Any]]]:
    """The pointers in lists of equal length; longer ones when Airflow would not map over so many tasks."""
    most = max(1, conf.getint("core", "max_map_length", fallback=1024))
    width = max(per_task, ceil(len(pointers) / most))
    return [pointers[place : place + width] for place in range(0, len(pointers), width)]

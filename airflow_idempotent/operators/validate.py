"""ValidatePartitionOperator: the second look at what is in the table, and the asset event that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException, Asset, Context

from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.operators.base import PartitionOperator
from airflow_idempotent.operators.batches import batch_for
from airflow_idempotent.operators.lineage import Answers
from airflow_idempotent.operators.run import Assignment, attempt_of, target_of
from airflow_idempotent.operators.words import LookSpec
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.options import PartitionBy

EVENT_FACTS = ("table", "partition", "batch_id", "effects", "row_count", "digest")


class ValidatePartitionOperator(PartitionOperator):
    """Checks a partition as readers see it, and writes the verdict to the ledger.

    Only when it passes is the asset event of its outlets emitted, with partition, effects and
    digest. The table is only read. A second run gives the same verdict for the same rows. A partition that the run
    has only looked back at, and that holds what an earlier run has told, is skipped, so that nobody is told twice;
    where nobody has written to it since, it is not even read.

    :param conn_id: Airflow connection of the PostgreSQL that holds the table.
    :param checks: What must hold, as in a spec file: ``[{"unique": ["order_id"]}, {"row_count": {"min": 1}}]``.
    :param partition_by: How the table's time axis is cut: ``{"column": "order_date", "grain": "day"}``.
    :param strategy: How rows got in, as for ``StageMergeOperator``; needed where a batch is the whole table, as for
        ``snapshot``: which rows are its partition follows from it. Default ``merge``.
    :param event_time: Column that says when a row happened.
    :param on_empty: ``fail`` (default) when the partition is empty; otherwise checks are not evaluated.
    :param lock_timeout: Seconds to wait for another run of the same partition, default 300.
    :param statement_timeout: Seconds one statement may run; default: the server's setting.
    :param batch: What land handed on; default: the newest batch below ``root``.
    :param target: ``live`` (default), or ``shadow``: version ``table_version`` of the table, built beside it.
    :param table_version: Which version of the table this is, default 1.
    """

    template_fields: Sequence[str] = (
        *PartitionOperator.template_fields,
        "conn_id",
        "checks",
        "partition_by",
        "strategy",
        "event_time",
        "on_empty",
        "lock_timeout",
        "statement_timeout",
        "batch",
        "target",
        "table_version",
    )
    ui_color = "#f4ead2"

    def __init__(
        self,
        *,
        conn_id: str | None = None,
        checks: Sequence[Any] | None = None,
        partition_by: Mapping[str, Any] | PartitionBy | None = None,
        strategy: str | Mapping[str, Any] | None = None,
        event_time: str | None = None,
        on_empty: str | None = None,
        lock_timeout: float | None = None,
        statement_timeout: float | None = None,
        batch: Any = None,
        target: str | None = None,
        table_version: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.checks = checks
        self.partition_by = partition_by
        self.strategy = strategy
        self.event_time = event_time
        self.on_empty = on_empty
        self.lock_timeout = lock_timeout
        self.statement_timeout = statement_timeout
        self.batch = batch
        self.target = target
        self.table_version = table_version

    def load_spec(self) -> LoadSpec:
        return self.spec_from_words(LookSpec)

    def teller(self) -> Answers:
        from airflow_idempotent.operators.openlineage import Validating

        return Validating(self.load_spec(), self.diary.done, shadow=self.builds_shadow(self.target))

    def step(self, spec: LoadSpec, assignment: Assignment, context: Context) -> dict[str, Any]:
        """Look at one partition; the verdict as a pointer."""
        if assignment.dry_run:
            raise AirflowSkipException(f"{spec.table} {assignment.partition}: a dry run published nothing")
        target = target_of(self.target, assignment.target)
        of_version = self.meant(spec, replace(assignment, target=target))
        store, manifest = batch_for(of_version, assignment.partition, self.batch)
        key, batch = assignment.partition.key, manifest or _no_batch(spec, assignment.partition)
        self.diary.note(key, manifest=batch)
        receipt = validate(
            Load(spec, assignment.partition, batch, looks_back=assignment.looks_back, target=target),
            connect=self.connections.warehouse(spec.conn_id),
            attempt=attempt_of(context, assignment.lane),
            batches=store,
        )
        self.diary.note(key, receipt=receipt, checks=receipt.checks)
        if not receipt.changed:
            done = "its verdict stands" if receipt.replayed else "validated again, passed"
            raise AirflowSkipException(f"{spec.table} {key}: unchanged since an earlier run, {done}; no asset event")
        return receipt.as_pointer()

    def done(self, context: Context, pointers: Sequence[Mapping[str, Any]]) -> None:
        """Tell downstream DAGs what is new: the facts of one partition, or of several under ``partitions``."""
        events = context.get("outlet_events")
        facts: list[Any] = [{name: pointer[name] for name in EVENT_FACTS} for pointer in pointers]
        if events is None or not facts:
            return
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                events[outlet].extra = facts[0] if len(facts) == 1 else {"partitions": facts}


def _no_batch(spec: LoadSpec, partition: Partition) -> Manifest:
    """What stands for a batch where none has landed: the table is checked, there is nothing to compare it with."""
    start, end = partition.start.isoformat(), partition.end.isoformat()
    return Manifest(spec.table, partition.key, "", start, end, CsvFormat(), ())

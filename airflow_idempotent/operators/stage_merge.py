"""StageMergeOperator: one batch, one transaction, and its ledger row in the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException, Context

from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.operators.base import PartitionOperator
from airflow_idempotent.operators.batches import batch_for, nothing_landed
from airflow_idempotent.operators.lineage import Answers
from airflow_idempotent.operators.metrics import count_rows
from airflow_idempotent.operators.run import Assignment, attempt_of, target_of
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.options import PartitionBy


class StageMergeOperator(PartitionOperator):
    """Loads the newest batch of a partition into its table, in one transaction.

    Checks of severity ``error`` run before the commit: bad data is never visible. A second run
    finds nothing newer and writes nothing.

    :param conn_id: Airflow connection of the PostgreSQL that holds the table.
    :param unique_key: Columns that tell which row is which.
    :param version: Columns that order two rows of one key; the greatest wins.
    :param strategy: How rows get in: its name, or a mapping with its options:
        ``{"kind": "snapshot", "on_missing": "keep"}``.
    :param checks: What must hold, as in a spec file: ``[{"unique": ["order_id"]}, {"row_count": {"min": 1}}]``.
    :param columns: Columns, to create the table from; optional when it exists.
    :param partition_by: How the table's time axis is cut: ``{"column": "order_date", "grain": "day"}``.
    :param event_time: Column that says when a row happened.
    :param on_schema_change: ``fail`` (default), ``ignore``, ``append_new_columns`` or ``sync_all_columns``.
    :param on_empty: ``fail`` (default) or ``skip`` when nothing has landed.
    :param lock_timeout: Seconds to wait for another run of the same table or partition, default 300.
    :param statement_timeout: Seconds one statement may run; default: the server's setting.
    :param fillfactor: Of tables that are created, in percent; default 85, or 100 where no row is updated in place.
    :param batch: What land handed on, or the address of a manifest; default: the newest batch below ``root``.
    :param dry_run: Do everything, report exact effects, roll back.
    :param target: ``live`` (default), or ``shadow``: version ``table_version`` of the table, built beside it.
    :param table_version: Which version of the table this is, default 1; not ``version``, which orders rows.
    :param force: Load a batch that another version of the spec has published, by a strategy that deletes rows.
    """

    template_fields: Sequence[str] = (
        *PartitionOperator.template_fields,
        "conn_id",
        "unique_key",
        "version",
        "strategy",
        "checks",
        "columns",
        "partition_by",
        "event_time",
        "on_schema_change",
        "on_empty",
        "lock_timeout",
        "statement_timeout",
        "fillfactor",
        "batch",
        "target",
        "table_version",
    )
    ui_color = "#dbeedd"

    def __init__(
        self,
        *,
        conn_id: str | None = None,
        unique_key: Sequence[str] | str | None = None,
        version: Sequence[str] | str | None = None,
        strategy: str | Mapping[str, Any] | None = None,
        checks: Sequence[Any] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        partition_by: Mapping[str, Any] | PartitionBy | None = None,
        event_time: str | None = None,
        on_schema_change: str | None = None,
        on_empty: str | None = None,
        lock_timeout: float | None = None,
        statement_timeout: float | None = None,
        fillfactor: int | None = None,
        batch: Any = None,
        dry_run: bool = False,
        force: bool = False,
        target: str | None = None,
        table_version: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.conn_id = conn_id
        self.unique_key = unique_key
        self.version = version
        self.strategy = strategy
        self.checks = checks
        self.columns = columns
        self.partition_by = partition_by
        self.event_time = event_time
        self.on_schema_change = on_schema_change
        self.on_empty = on_empty
        self.lock_timeout = lock_timeout
        self.statement_timeout = statement_timeout
        self.fillfactor = fillfactor
        self.batch = batch
        self.dry_run_only = dry_run
        self.force = force
        self.target = target
        self.table_version = table_version

    def load_spec(self) -> LoadSpec:
        return self.spec_from_words(LoadSpec)

    def teller(self) -> Answers:
        from airflow_idempotent.operators.openlineage import Staging

        return Staging(self.load_spec(), self.diary.done, shadow=self.builds_shadow(self.target))

    def step(self, spec: LoadSpec, assignment: Assignment, context: Context) -> dict[str, Any]:
        """Load one partition; the receipt as a pointer."""
        target = target_of(self.target, assignment.target)
        of_version = self.meant(spec, replace(assignment, target=target))
        store, manifest = batch_for(of_version, assignment.partition, self.batch)
        if manifest is None:
            missing = nothing_landed(of_version, assignment.partition, store)
            if of_version.on_empty == "fail":
                raise missing
            raise AirflowSkipException(missing.headline)
        key = assignment.partition.key
        self.diary.note(key, manifest=manifest, address=store.address(manifest))
        force = self.force or assignment.force
        receipt = stage_merge(
            Load(
                spec,
                assignment.partition,
                manifest,
                skip_unchanged=assignment.skip_unchanged,
                force=force,
                looks_back=assignment.looks_back,
                target=target,
            ),
            connect=self.connections.warehouse(spec.conn_id),
            batches=store,
            attempt=attempt_of(context, assignment.lane),
            dry_run=assignment.dry_run or self.dry_run_only,
        )
        self.diary.note(key, receipt=receipt, checks=receipt.checks)
        if not (receipt.replayed or receipt.dry_run):
            count_rows(receipt)
        return receipt.as_pointer()

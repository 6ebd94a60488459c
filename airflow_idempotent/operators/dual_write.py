"""DualWriteOperator: what was loaded into the live table is loaded into the versions beside it, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException, Context

from airflow_idempotent.engine.beside import Beside, kept_up, meant
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import IdempotentError
from airflow_idempotent.operators.batches import batch_for, nothing_landed
from airflow_idempotent.operators.land import AtomicLandOperator
from airflow_idempotent.operators.lineage import Answers
from airflow_idempotent.operators.run import Assignment, attempt_of
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.table import TableSpec


class DualWriteOperator(AtomicLandOperator):
    """Loads a partition into the version that is being built, or kept to go back to, after the live table has it.

    The same batch, by the spec of that version; one whose source is another one is landed first, apart from the live
    table's batches. Then it is validated and compared with the live table. The live table is neither written nor
    locked. A second run finds nothing newer and writes nothing.

    What goes wrong with such a version never fails the run: it is in the ledger and in the log, the task is skipped,
    and the version stays behind, so that it is not swapped in before that partition is loaded.

    :param spec: A table's spec, with ``publish: swap``.
    :param planned: What the plan of the run says of the partitions.
    :param batch: What land handed on.
    """

    ui_color = "#e6dff0"

    def __init__(self, *, batch: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.batch = batch

    template_fields = (*AtomicLandOperator.template_fields, "batch")

    def teller(self) -> Answers:
        """Nobody reads what is loaded here; the swap tells of it."""
        return _NothingToTell()

    def step(self, spec: Any, assignment: Assignment, context: Context) -> dict[str, Any]:
        """Load, validate and compare one partition; where each version stands now."""
        where = f"{spec.table} {assignment.partition}"
        if not isinstance(spec, TableSpec):
            raise AirflowSkipException(f"{where}: only a table with a spec has versions that are loaded by themselves")
        if assignment.dry_run or assignment.target == "shadow":
            why = "a dry run published nothing" if assignment.dry_run else "this run loads the new version itself"
            raise AirflowSkipException(f"{where}: {why}")
        found = kept_up(spec, connect=self.connections.warehouse(spec.conn_id))
        if not found:
            raise AirflowSkipException(f"{where}: no version beside the live table is being built or kept up")
        outcomes = [self._kept_up(spec, item, assignment, context) for item in found]
        if all(item["state"] == "behind" for item in outcomes):
            raise AirflowSkipException("; ".join(f"{where}: {item['message']}" for item in outcomes))
        return {"partition": assignment.partition.key, "versions": outcomes}

    def _kept_up(self, spec: TableSpec, item: Beside, assignment: Assignment, context: Context) -> dict[str, Any]:
        """Load one version, or say why it stays behind."""
        said: dict[str, Any] = {"version": item.version.number, "relation": str(item.version.relation)}
        try:
            receipt = self._loaded(spec, item, assignment, context)
        except (IdempotentError, OSError, AirflowSkipException) as error:
            message = f"version {item.version.number} stays behind the live table: {error}"
            self.log.warning("dual_write table=%s partition=%s %s", spec.table, assignment.partition, message)
            return {**said, "state": "behind", "message": message}
        kept = ("state", "effects", "likeness")
        return {**said, **{name: receipt[name] for name in kept if name in receipt}}

    def _loaded(self, spec: TableSpec, item: Beside, assignment: Assignment, context: Context) -> Mapping[str, Any]:
        connect = self.connections.warehouse(spec.conn_id)
        of_version = meant(spec, item.target, connect=connect)
        if of_version.landed_as != spec.table:
            super().land(of_version, assignment, context)
        store, manifest = batch_for(of_version, assignment.partition, self.batch)
        if manifest is None:
            raise nothing_landed(of_version, assignment.partition, store)
        words: dict[str, Any] = {"connect": connect, "batches": store}
        words["attempt"] = attempt_of(context, assignment.lane)
        load = Load(spec, assignment.partition, manifest, looks_back=assignment.looks_back, target=item.target)
        loaded = stage_merge(load, **words, is_last=True)
        return {**validate(load, **words).as_pointer(), "effects": loaded.effects.as_dict()}


class _NothingToTell:
    def tell(self, *, finished: bool) -> None:
        return None

"""AtomicLandOperator: what the source holds becomes a numbered, immutable batch, or nothing does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException, Context
from jinja2.exceptions import TemplateError

from airflow_idempotent.core.window import position_of
from airflow_idempotent.errors import ArgumentsError, SourceMissingError
from airflow_idempotent.landing.code import pinned, python_input, query_input
from airflow_idempotent.landing.inputs import Input, find_files
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.pinning import pinned_for
from airflow_idempotent.landing.retention import retain
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.landing.telling import told
from airflow_idempotent.operators.base import PartitionOperator
from airflow_idempotent.operators.connections import landing_root, storage_path
from airflow_idempotent.operators.lineage import Answers
from airflow_idempotent.operators.run import Assignment, attempt_of
from airflow_idempotent.operators.words import LandSpec
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.source import Files, Query
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform

log = logging.getLogger(__name__)
PROGRESS_SECONDS = 10


class AtomicLandOperator(PartitionOperator):
    """Lands a partition's source as a batch: complete with its manifest, or invisible.

    The same content is the same batch and nothing is written; other content is the next batch.

    :param source: ``Files(path)``, ``Query(sql, conn_id=…)``, ``Python("module:function")``, ``Transform(sql)``,
        or the same as a mapping. The path and the SQL of a query are templates, rendered for each partition:
        besides Airflow's own variables they see ``partition`` (``key``, ``start``, ``end``). Queries take the
        binds ``:start :end :cutoff_ts :key``, incremental ones ``:watermark`` too. A transform's SQL is no template;
        it is pinned here and run by the stage_merge that follows, inside the warehouse.
    :param on_source_change: ``new_batch`` (default) or ``fail``, when a partition's source differs from its batch.
    :param on_empty: ``fail`` (default), ``skip`` or ``publish_empty`` when there is no input.
    :param keep_batches: Newest batches kept per partition, default 7.
    """

    template_fields: Sequence[str] = (
        *PartitionOperator.template_fields,
        "on_source_change",
        "on_empty",
        "keep_batches",
    )
    ui_color = "#e8f1fb"

    def __init__(
        self,
        *,
        source: Files | Query | Python | Transform | Mapping[str, Any] | None = None,
        on_source_change: str | None = None,
        on_empty: str | None = None,
        keep_batches: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.on_source_change = on_source_change
        self.on_empty = on_empty
        self.keep_batches = keep_batches

    @property
    def word_fields(self) -> Sequence[str]:
        return (*self.template_fields, "source")

    def load_spec(self) -> LandSpec | TableSpec:
        return self.spec_from_words(LandSpec)

    def teller(self) -> Answers:
        from airflow_idempotent.operators.openlineage import Landing

        return Landing(self.load_spec(), self.diary.done)

    def step(self, spec: LandSpec | TableSpec, assignment: Assignment, context: Context) -> dict[str, Any]:
        """Land one partition; the pointer that stage_merge takes."""
        return self.land(self.meant(spec, assignment), assignment, context)

    def land(self, spec: LandSpec | TableSpec, assignment: Assignment, context: Context) -> dict[str, Any]:
        """Land one partition by the spec of the version that it is for."""
        partition, store = assignment.partition, BatchStore(landing_root(spec.landing.root))
        assignment = _pinned(spec, assignment, store, context)
        try:
            landed = land(
                self._input(spec, assignment, context),
                store=store,
                table=spec.landed_as,
                partition=partition,
                on_source_change=spec.landing.on_source_change,
                cutoff_ts=assignment.cutoff_ts,
                attempt=str(attempt_of(context, assignment.lane)),
                created_at=datetime.now(UTC).isoformat(),
                progress=self._progress(spec.table, partition.key),
                may_be_empty=spec.on_empty == "publish_empty",
                unique_key=spec.unique_key,
            )
        except SourceMissingError as missing:
            if spec.on_empty == "skip":
                raise AirflowSkipException(missing.headline) from missing
            raise
        self.diary.note(partition.key, manifest=landed.manifest, address=landed.address, replayed=landed.replayed)
        if not assignment.dry_run:
            retain(store, spec.landed_as, partition, spec.landing.keep_batches)
        pointer = {
            "table": spec.landed_as,
            "partition": partition.key,
            "batch_id": landed.manifest.batch_id,
            "address": landed.address,
            "rows": None if landed.manifest.query else landed.manifest.rows,  # a query's are not known before it runs
            "bytes": landed.manifest.bytes,
            "replayed": landed.replayed,
        }
        self.log.info("land %s", " ".join(f"{name}={value}" for name, value in pointer.items()))
        for level, line in told(landed):
            log.log(level, "land table=%s partition=%s %s", spec.table, partition.key, line)
        return pointer

    def _input(self, spec: LandSpec | TableSpec, assignment: Assignment, context: Context) -> Input:
        source, partition = spec.source, assignment.partition
        if isinstance(source, Files):
            pattern = self._rendered("source.path", source.path, assignment, context)
            return find_files(
                pattern,
                open_path=lambda text: storage_path(text, source.conn_id),
                format=source.value(),
                columns=source.file_columns(spec.column_names),
            )
        cutoff_ts = datetime.fromisoformat(assignment.cutoff_ts)
        if isinstance(source, Python):
            params: Any = context.get("params")
            return python_input(spec, source, partition, cutoff_ts=cutoff_ts, params=dict(params or {}))
        if isinstance(source, Transform):
            return pinned(source, partition, cutoff_ts=cutoff_ts, run_id=str(context.get("run_id") or ""))
        sql = self._rendered("source.sql", source.sql, assignment, context)
        self.diary.note(partition.key, sql=sql)
        low, high = (position_of(text) for text in (assignment.low, assignment.high))
        if low is None:
            low = partition.start
        connect, known_until = self.connections.source(source.conn_id), assignment.known_until
        return query_input(spec, source, partition, sql, cutoff_ts, low, connect, known_until, high)

    def _rendered(self, name: str, template: str, assignment: Assignment, context: Context) -> str:
        variables: Any = context
        variables["partition"] = assignment.partition
        try:
            return str(self.render_template(template, context))
        except TemplateError as error:
            known = (
                "it may use partition.key, .start, .end, params, var, conn, macros, and what Airflow knows of the run"
            )
            raise ArgumentsError(file=f"task {self.task_id!r}", problems=((name, f"{error}; {known}"),)) from None

    def _progress(self, table: str, partition: str) -> Callable[[int, int], None]:
        """A line in the log every ten seconds of work."""
        last = time.monotonic()

        def tell(rows: int, size: int) -> None:
            nonlocal last
            if time.monotonic() - last >= PROGRESS_SECONDS:
                last = time.monotonic()
                self.log.info("land table=%s partition=%s rows=%d bytes=%d so far", table, partition, rows, size)

        return tell


def _pinned(spec: LandSpec | TableSpec, assignment: Assignment, store: BatchStore, context: Context) -> Assignment:
    """The assignment with what an earlier attempt of the same run, or the newest batch, has settled already."""
    attempt = attempt_of(context, assignment.lane)
    found = pinned_for(
        assignment.partition,
        store.manifests(spec.landed_as, assignment.partition.key),
        run=f"{attempt.dag_id}/{attempt.run_id}/" if attempt.dag_id else "",
        cutoff_ts=assignment.cutoff_ts,
        cutoff_given=assignment.cutoff_given,
        low=assignment.low,
        cursor=getattr(spec.source, "cursor", None),
    )
    return replace(assignment, cutoff_ts=found.cutoff_ts, low=found.low, high=found.high)

"""Answers to OpenLineage: what each operator reads and writes. Imported only where its provider is installed."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import DatasetFacet, JobFacet, sql_job

from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.duplicates import Deduplicated
from airflow_idempotent.core.lineage import ColumnLineage, Origin, Use, located, standing_part
from airflow_idempotent.core.manifest import PinnedQuery
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.version import Swapped, version_name
from airflow_idempotent.operators import facets
from airflow_idempotent.operators.datasets import Batches, Tables, exported
from airflow_idempotent.operators.lineage import Done
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.source import Files, Query
from airflow_idempotent.spec.transform import Transform
from airflow_idempotent.sql.lineage import column_lineage
from airflow_idempotent.sql.user_query import QueryTextError, tables_of

log = logging.getLogger(__name__)
Lineage = OperatorLineage[Any, Any]


@dataclass
class Teller:
    """One answer, from what a task was told to do and what it has done."""

    spec: LoadSpec
    done: tuple[Done, ...] = ()

    @property
    def batches(self) -> Batches:
        return Batches(self.spec, self.done)

    @property
    def source(self) -> Any:
        """Where rows come from, for operators that are told."""
        return getattr(self.spec, "source", None)

    def tell(self, *, finished: bool) -> Lineage:
        """What is read and written; before the task is ``finished`` as far as its arguments say."""
        raise NotImplementedError


class Landing(Teller):
    """From the source to batches."""

    def tell(self, *, finished: bool) -> Lineage:
        inputs: list[InputDataset] = []
        jobs: dict[str, JobFacet] = {}
        if isinstance(self.source, Files):
            inputs = [self._files(self.source)]
        elif isinstance(self.source, Query):
            sql = next((item.sql for item in reversed(self.done) if item.sql), self.source.sql)
            if "{{" not in sql and "{%" not in sql:
                inputs, jobs = exported(self.source.conn_id, sql)
        return OperatorLineage(inputs=inputs, outputs=[self.batches.written()], job_facets=jobs)

    def _files(self, source: Files) -> InputDataset:
        landed = self.batches.manifests
        patterns = [str(item.source["pattern"]) for item in landed if "pattern" in item.source]
        paths = {located(str(path))[1] for item in landed for path in item.source.get("paths", ())}
        extra = facets.files_read(landed) | facets.only_files(paths)
        return InputDataset(*located(standing_part(source.path, *patterns[-1:])), inputFacets=extra)


@dataclass
class OfTable(Teller):
    """What operators tell that read or write the table itself. ``known`` are tables as they are now.

    ``shadow`` says that the task is for a version which is built beside the live table.
    """

    known: dict[Relation, TableShape] = field(default_factory=dict)
    shadow: bool = False

    @property
    def relation(self) -> Relation:
        """The table that was written or read; before that the one that is going to be."""
        found = next((item.receipt.relation for item in self.done if item.receipt and item.receipt.relation), "")
        if found:
            return Relation.parse(found)
        return version_name(self.spec.live, self.spec.table_version) if self.shadow else self.spec.relation

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.spec.conn_id)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the table, else those of the spec."""
        if (shape := self.known.get(self.relation)) is not None:
            return shape.columns
        return tuple(Column(item.name, item.data_type) for item in self.spec.columns)

    def read(self, relation: Relation) -> InputDataset:
        """A table as an input."""
        shape = self.known.get(relation)
        return InputDataset(*self.tables.named(relation), facets=facets.schema(shape.columns if shape else ()))

    def judged(self) -> dict[str, Any]:
        """What the checks said of the rows."""
        return facets.assertions(self.done, [item.name for item in self.columns])


class Staging(OfTable):
    """From batches, and from the tables that a query reads, to the table."""

    @cached_property
    def query(self) -> PinnedQuery | None:
        """The query that makes the rows: that of the batch, or of the spec before there is one."""
        if self.done:
            return next((item.query for item in reversed(self.batches.manifests)), None)
        is_transform = isinstance(self.source, Transform)
        return PinnedQuery(self.source.sql, self.source.columns, "") if is_transform else None

    @cached_property
    def sources(self) -> tuple[Relation, ...]:
        """The tables that the query reads."""
        named = self.source.tables if isinstance(self.source, Transform) else ()
        return tuple(sorted({*named, *(tables_of(self.query.sql) if self.query else ())}))

    def tell(self, *, finished: bool) -> Lineage:
        if finished:
            self.known = self.tables.shapes(dict.fromkeys((self.relation, *self.sources)))
        batch = self.batches.read()
        batch.inputFacets = {**(batch.inputFacets or {}), **self.judged()}
        jobs = {"sql": sql_job.SQLJobFacet(query=self.query.sql, dialect="postgres")} if self.query else {}
        inputs = [batch, *map(self.read, self.sources)]
        return OperatorLineage(inputs=inputs, outputs=[self._written()], job_facets=jobs)

    def _written(self) -> OutputDataset:
        receipts = [item.receipt for item in self.done if item.receipt is not None and not item.receipt.dry_run]
        # The same query may give other rows: those it gave tell its versions apart.
        marks = [(self.query and item.measure.digest) or item.content_fingerprint for item in receipts]
        versions = list(zip((item.batch_id for item in receipts), marks, strict=True))
        keys = [item.partition for item in receipts]
        return OutputDataset(
            *self.tables.named(self.relation),
            facets=facets.schema(self.columns) | facets.version(versions) | self._columns_from(),
            outputFacets=facets.effects(receipts) | facets.only_partitions(self.spec.partition_column, keys),
        )

    def _columns_from(self) -> dict[str, DatasetFacet]:
        names = {relation: self.tables.named(relation) for relation in self.sources}
        if self.query:
            try:
                found = column_lineage(self.query.sql, {table: shape.names for table, shape in self.known.items()})
            except QueryTextError as error:
                log.info("lineage table=%s without its columns: %s", self.spec.table, error)
                return {}
        else:  # the columns of the files, by their names
            files = Relation("landed", "batches")
            names[files] = self.batches.dataset
            given = {name for item in self.batches.manifests for name in item.columns}
            found = ColumnLineage({name: (Origin(files, name, Use.IDENTITY),) for name in given})
        written = {item.name for item in self.columns} or found.columns.keys()
        kept = {name: found.columns[name] for name in sorted(written & found.columns.keys())}
        return facets.column_lineage(kept, found.rows, names)


class Validating(OfTable):
    """The table is read, and judged."""

    def tell(self, *, finished: bool) -> Lineage:
        if finished:
            self.known = self.tables.shapes([self.relation])
        table = self.read(self.relation)
        table.facets = {**(table.facets or {}), **facets.version(self.batches.versions)}
        table.inputFacets = self.judged()
        return OperatorLineage(inputs=[table])


@dataclass
class Deduplicating:
    """Rows of the table go."""

    relation: Relation
    conn_id: str
    done: Deduplicated | None = None

    def tell(self, *, finished: bool) -> Lineage:
        tables = Tables(self.conn_id)
        shape = tables.shapes([self.relation]).get(self.relation) if finished else None
        removed = self.done if self.done is not None and not self.done.dry_run else None
        table = OutputDataset(
            *tables.named(self.relation),
            facets=facets.schema(shape.columns if shape else ()),
            outputFacets=facets.removed(removed.removed) if removed else {},
        )
        return OperatorLineage(outputs=[table])


@dataclass
class Swapping:
    """One version of the table becomes the live one: what was built as a shadow is the table now."""

    relation: Relation
    conn_id: str
    shadow: Relation | None = None
    done: Swapped | None = None

    def tell(self, *, finished: bool) -> Lineage:
        tables = Tables(self.conn_id)
        shape = tables.shapes([self.relation]).get(self.relation) if finished else None
        about = facets.schema(shape.columns if shape else ())
        shadow = self.shadow
        if self.done is not None:
            about |= facets.table_version(self.done.version)
            shadow = shadow or version_name(self.relation, self.done.version)
        inputs = [InputDataset(*tables.named(shadow))] if shadow else []
        return OperatorLineage(inputs=inputs, outputs=[OutputDataset(*tables.named(self.relation), facets=about)])

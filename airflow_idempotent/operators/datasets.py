"""OpenLineage's names for the tables of a connection and the batches of a table; needs its provider."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow.providers.common.compat.sdk import BaseHook
from airflow.providers.openlineage.sqlparser import SQLParser
from airflow.providers.postgres.hooks.postgres import PostgresHook
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import DatasetFacet, JobFacet, sql_job

from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.lineage import located
from airflow_idempotent.core.manifest import Manifest, folder_name
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.engine.shapes import shapes
from airflow_idempotent.operators import facets
from airflow_idempotent.operators.connections import Connections, landing_root
from airflow_idempotent.operators.lineage import Done
from airflow_idempotent.spec.load import LoadSpec

log = logging.getLogger(__name__)


@dataclass
class Batches:
    """What a task knows of batches: where they lie, and which of them it has landed or found."""

    spec: LoadSpec
    done: tuple[Done, ...]

    @property
    def manifests(self) -> list[Manifest]:
        """Of batches that are there: validate stands in with an empty one where none is."""
        return [item.manifest for item in self.done if item.manifest is not None and item.manifest.batch_id]

    @property
    def with_files(self) -> list[Manifest]:
        return [item for item in self.manifests if not item.query]

    @property
    def versions(self) -> list[tuple[str, str]]:
        """The batches with their fingerprints; the fingerprint of a query is that of the question."""
        return [(item.batch_id, item.content_fingerprint) for item in self.manifests]

    @cached_property
    def dataset(self) -> tuple[str, str]:
        """All batches of the table are one: the folder they lie in."""
        address = next((item.address for item in self.done if item.address), "")
        root = address.rsplit("/", 3)[0] if address else ""
        return located(root or f"{landing_root(self.spec.landing.root)}/{folder_name(self.spec.table)}")

    @property
    def about(self) -> dict[str, DatasetFacet]:
        """Which version it is now, and how its files look."""
        found = facets.version(self.versions)
        if files := self.with_files:
            layer = self.dataset[0].partition("://")[0]
            found |= facets.schema(Column(name, "") for name in files[-1].columns) | facets.storage(files[-1], layer)
        return found

    def read(self) -> InputDataset:
        """The batches as an input."""
        folders = [located(item.address)[1].rpartition("/")[0] for item in self.done if item.address]
        extra = facets.files_read(self.with_files) | facets.only_files(folders)
        return InputDataset(*self.dataset, facets=self.about, inputFacets=extra)

    def written(self) -> OutputDataset:
        """The batches as an output; those that lay there already were not written."""
        fresh = [item.manifest for item in self.done if item.manifest in self.with_files and not item.replayed]
        extra = facets.files_written(filter(None, fresh)) if self.with_files else {}
        return OutputDataset(*self.dataset, facets=self.about, outputFacets=extra)


class Tables:
    """The tables of the warehouse, under the names that Airflow's SQL operators give them too."""

    def __init__(self, conn_id: str) -> None:
        hook = PostgresHook(postgres_conn_id=conn_id)
        connection = hook.get_connection(conn_id)
        info = hook.get_openlineage_database_info(connection)
        if not connection.host:  # a socket on this machine
            info.authority = f"localhost:{connection.port or 5432}"
        self.namespace = SQLParser.create_namespace(info)
        self.database = info.database or connection.login or ""
        self._conn_id = conn_id

    def named(self, relation: Relation) -> tuple[str, str]:
        """Namespace and name of a table."""
        return self.namespace, ".".join(filter(None, (self.database, relation.schema, relation.name)))

    def shapes(self, relations: Iterable[Relation]) -> dict[Relation, TableShape]:
        """Their columns now; none when the database cannot be asked."""
        try:
            return shapes(relations, Connections().warehouse(self._conn_id))
        except Exception as error:  # noqa: BLE001, names of tables are worth telling without their columns
            log.warning("lineage without the columns of tables: %s", error)
            return {}


def exported(conn_id: str, sql: str) -> tuple[list[InputDataset], dict[str, JobFacet]]:
    """The tables that a query reads, from any database whose hook says how OpenLineage names them."""
    hook: Any = BaseHook.get_hook(conn_id)
    connection = hook.get_connection(conn_id)
    dialect = hook.get_openlineage_database_dialect(connection)
    if (info := hook.get_openlineage_database_info(connection)) is None:
        return [], {"sql": sql_job.SQLJobFacet(query=sql, dialect=dialect)}
    parser = SQLParser(dialect=dialect, default_schema="public" if dialect == "postgres" else None)
    told = parser.generate_openlineage_metadata_from_sql(
        sql=sql, hook=hook, database_info=info, database=info.database, use_connection=False
    )
    tables: list[Any] = list(told.inputs)
    return [InputDataset(item.namespace, item.name, facets=item.facets) for item in tables], dict(told.job_facets)

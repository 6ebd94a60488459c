"""How OpenLineage names the tables of a connection. Imported only where its provider is installed."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from airflow.providers.common.compat.sdk import BaseHook
from airflow.providers.openlineage.sqlparser import SQLParser
from airflow.providers.postgres.hooks.postgres import PostgresHook
from openlineage.client.event_v2 import InputDataset
from openlineage.client.facet_v2 import JobFacet, sql_job

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.engine.shapes import shapes
from airflow_idempotent.operators.connections import Connections

log = logging.getLogger(__name__)


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

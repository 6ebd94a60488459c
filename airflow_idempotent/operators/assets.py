"""The assets that stand for tables."""

from __future__ import annotations

from urllib.parse import quote

from airflow.providers.common.compat.sdk import Asset

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform


def table_asset(spec: LoadSpec) -> Asset:
    """The asset of a table: ``idempotent://warehouse/analytics/orders``, by connection, schema and name.

    Host and database are left to the connection: looking them up takes a query per parse, and the
    same DAG would name other assets in another environment. Name and URI are the same text, so
    that downstream DAGs write one line on Airflow 2 and 3.
    """
    return _asset(spec.conn_id, spec.relation)


def drift_asset(spec: LoadSpec) -> Asset:
    """The asset of what audits find of a table: its own URI with ``/drift`` behind it."""
    return Asset(f"{table_asset(spec).uri}/drift")


def input_assets(spec: TableSpec) -> list[Asset]:
    """The assets of the tables that a transform reads; its own is none of them, though it may read that too."""
    if not isinstance(spec.source, Transform):
        return []
    return [_asset(spec.conn_id, table) for table in spec.source.tables if table != spec.relation]


def _asset(conn_id: str, relation: Relation) -> Asset:
    return Asset("idempotent://" + "/".join(quote(part, safe="") for part in (conn_id, relation.schema, relation.name)))

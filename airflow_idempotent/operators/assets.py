"""The asset that stands for a table."""

from __future__ import annotations

from urllib.parse import quote

from airflow.providers.common.compat.sdk import Asset

from airflow_idempotent.spec.load import LoadSpec


def table_asset(spec: LoadSpec) -> Asset:
    """The asset of a table: ``idempotent://warehouse/analytics/orders``, by connection, schema and name.

    Host and database are left to the connection: looking them up takes a query per parse, and the
    same DAG would name other assets in another environment. Name and URI are the same text, so
    that downstream DAGs write one line on Airflow 2 and 3.
    """
    relation = spec.relation
    return Asset(
        "idempotent://" + "/".join(quote(part, safe="") for part in (spec.conn_id, relation.schema, relation.name))
    )

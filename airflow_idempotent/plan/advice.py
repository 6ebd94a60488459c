"""What would make a table better for its loads, which we never do ourselves."""

from __future__ import annotations

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.deduplicate import unique_index


def index_advice(spec: LoadSpec, target: TableShape) -> str:
    """The index that would keep the key unique, where there is none; empty where there can be none.

    A partitioned table cannot have one without its partition column.
    """
    key = spec.created_key
    if (
        not key
        or target.partitioned
        or target.is_unique(key)
        or not spec.strategy.is_exclusive(target, spec.unique_key)
    ):
        return ""
    return (
        f"no unique index on {', '.join(key)}: loads of the table wait for each other, nobody else may write to it; "
        f"better is {unique_index(target.relation, key)}"
    )

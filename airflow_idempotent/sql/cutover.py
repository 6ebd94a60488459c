"""Whether a shadow has all that the live table has. Fixed text: no value is ever pasted into it."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.statement import Statement, statement, table

_LACKING = """
SELECT live.partition_key, coalesce(shadow.state, 'missing')
FROM airflow_idempotent.partitions AS live
LEFT JOIN airflow_idempotent.partitions AS shadow
    ON shadow.table_name = live.table_name AND shadow.table_version = %(shadow)s
    AND shadow.partition_key = live.partition_key
    AND EXISTS (
        SELECT FROM airflow_idempotent.events AS e
        WHERE e.table_name = shadow.table_name AND e.table_version = shadow.table_version
          AND e.partition_key = shadow.partition_key AND e.step = 'stage_merge' AND e.state = 'published'
          AND e.recorded_at >= %(since)s)
WHERE live.table_name = %(table)s AND live.table_version = %(live)s AND live.published_batch_id IS NOT NULL
  AND shadow.state IS DISTINCT FROM 'validated'
ORDER BY live.partition_start
"""

_NEWEST = """
SELECT partition_key, state FROM airflow_idempotent.partitions
WHERE table_name = %(table)s AND table_version = %(shadow)s
ORDER BY partition_start DESC LIMIT %(count)s
"""


def lacking_partitions(name: str, live: int, shadow: int, since: object) -> Statement:
    """Partitions of the live version that the shadow has not, or not validated: (key, state there).

    What was loaded into a shadow before ``since`` was loaded into another table of its name, or by another spec.
    """
    return Statement(_LACKING, {"table": name, "live": live, "shadow": shadow, "since": since})


def newest_partitions(name: str, shadow: int, count: int) -> Statement:
    """The newest partitions of a version, and where they stand."""
    return Statement(_NEWEST, {"table": name, "shadow": shadow, "count": count})


def count_both(live: Relation, shadow: Relation) -> Statement:
    """How many rows each has."""
    counts = [exp.select(exp.Count(this=exp.Star())).from_(table(item)).subquery() for item in (live, shadow)]
    return statement(exp.select(*counts))

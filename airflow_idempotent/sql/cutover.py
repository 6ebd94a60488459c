"""Whether a shadow has all that the live table has. Fixed text: no value is ever pasted into it."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.statement import Statement, statement, table

_LACKING = """
SELECT live.partition_key, found.lack FROM (
    SELECT live.table_name, live.partition_key, live.partition_start
    FROM airflow_idempotent.partitions AS live
    WHERE live.table_name = %(table)s AND live.table_version = %(live)s AND live.published_batch_id IS NOT NULL
) AS live
LEFT JOIN airflow_idempotent.partitions AS shadow
    ON shadow.table_name = live.table_name AND shadow.table_version = %(shadow)s
    AND shadow.partition_key = live.partition_key
LEFT JOIN LATERAL (
    SELECT max(e.event_id) AS event_id FROM airflow_idempotent.events AS e
    WHERE e.table_name = shadow.table_name AND e.table_version = shadow.table_version
      AND e.partition_key = shadow.partition_key AND e.step = 'stage_merge' AND e.state = 'published'
      AND e.recorded_at >= %(since)s
) AS loaded ON true
LEFT JOIN airflow_idempotent.divergence AS compared
    ON compared.table_name = live.table_name AND compared.table_version = %(shadow)s
    AND compared.partition_key = live.partition_key AND compared.event_id = loaded.event_id
CROSS JOIN LATERAL (SELECT CASE
    WHEN shadow.state IS NULL OR (shadow.state = 'validated' AND loaded.event_id IS NULL) THEN 'is missing'
    WHEN shadow.state <> 'validated' THEN 'is ' || shadow.state
    WHEN EXISTS (
        SELECT FROM airflow_idempotent.events AS e
        WHERE e.table_name = live.table_name AND e.table_version = %(live)s AND e.partition_key = live.partition_key
          AND e.step = 'stage_merge' AND e.state = 'published' AND e.inserted + e.updated + e.deleted > 0
          AND e.event_id > loaded.event_id) THEN 'is behind the live table, which was loaded since'
    WHEN NOT %(compared)s OR compared.likeness = 'clean' THEN NULL
    WHEN compared.likeness IS NULL THEN 'is not compared with the live table since it was loaded'
    WHEN compared.likeness = 'not_compared' THEN 'cannot be compared with the live table: ' || compared.message
    ELSE 'is not as in the live table: ' || compared.message END AS lack) AS found
WHERE found.lack IS NOT NULL
ORDER BY live.partition_start
"""

_NEWEST = """
SELECT partition_key, 'is ' || state, state = 'validated' FROM airflow_idempotent.partitions
WHERE table_name = %(table)s AND table_version = %(shadow)s
ORDER BY partition_start DESC LIMIT %(count)s
"""

_NEWEST_COMPARED = """
SELECT p.partition_key, coalesce('is ' || c.likeness, 'was not loaded by a scheduled run that compared it'),
       coalesce(c.likeness = 'clean', false)
FROM airflow_idempotent.partitions AS p
LEFT JOIN LATERAL (
    SELECT c.likeness FROM airflow_idempotent.comparisons AS c
    WHERE (c.table_name, c.table_version, c.partition_key) = (p.table_name, p.table_version, p.partition_key)
      AND c.lane = 'scheduled' AND c.compared_at >= %(since)s
    ORDER BY c.comparison_id DESC LIMIT 1
) AS c ON true
WHERE p.table_name = %(table)s AND p.table_version = %(shadow)s
ORDER BY p.partition_start DESC LIMIT %(count)s
"""


def lacking_partitions(name: str, live: int, shadow: int, since: object, *, compared: bool) -> Statement:
    """Partitions of the live version that keep the shadow from being swapped in: (key, what is the matter).

    What was loaded into a shadow before ``since`` was loaded into another table of its name, or by another spec.
    """
    binds = {"table": name, "live": live, "shadow": shadow, "since": since, "compared": compared}
    return Statement(_LACKING, binds)


def newest_partitions(name: str, shadow: int, count: int, since: object, *, compared: bool) -> Statement:
    """The newest partitions of a version: (key, where each stands, whether that is well).

    With ``compared`` well is what a scheduled run has loaded into both versions and found alike.
    """
    binds = {"table": name, "shadow": shadow, "count": count}
    return Statement(_NEWEST_COMPARED, {**binds, "since": since}) if compared else Statement(_NEWEST, binds)


def count_both(live: Relation, shadow: Relation) -> Statement:
    """How many rows each has."""
    counts = [exp.select(exp.Count(this=exp.Star())).from_(table(item)).subquery() for item in (live, shadow)]
    return statement(exp.select(*counts))

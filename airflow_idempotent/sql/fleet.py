"""All tables of the ledger at a glance: one line each, from the newest of each partition. Fixed text."""

from __future__ import annotations

from airflow_idempotent.sql.statement import Statement

FLEET_COLUMNS = (
    "table_name", "table_version", "partitions", "validated", "published", "landed", "rejected", "failed", "drifted",
    "first_start", "last_end", "loaded_until", "gap_start", "recorded_at",
)  # fmt: skip

# Partitions that follow one another add up to the time from the first to the last: only where they do not, each is
# looked at for what lies between.
FLEET = Statement(
    """
WITH live AS MATERIALIZED (
    SELECT table_name, table_version FROM airflow_idempotent.table_versions WHERE state = 'SWAPPED'
), tables AS MATERIALIZED (
    SELECT h.table_name, h.table_version, count(*) AS partitions,
           count(*) FILTER (WHERE h.state = 'validated') AS validated,
           count(*) FILTER (WHERE h.state = 'published') AS published,
           count(*) FILTER (WHERE h.state = 'landed') AS landed,
           count(*) FILTER (WHERE h.state = 'rejected') AS rejected,
           count(*) FILTER (WHERE h.state = 'failed') AS failed,
           min(h.partition_start) AS first_start, max(h.partition_end) AS last_end, max(h.event_id) AS event_id,
           min(h.since_event) AS since_event, min(h.tried_event) AS tried_event, bool_or(h.follows) AS follows,
           max(h.partition_end) FILTER (WHERE h.tried_event IS NOT NULL AND h.load_event_id IS NOT NULL) AS until,
           min(h.partition_start) FILTER (WHERE h.tried_event IS NOT NULL AND h.load_event_id IS NULL) AS unpublished,
           sum(extract(epoch FROM h.partition_end - h.partition_start))
               FILTER (WHERE h.tried_event IS NOT NULL OR h.load_event_id IS NOT NULL) AS seconds
    FROM airflow_idempotent.partition_heads AS h LEFT JOIN live AS v USING (table_name)
    WHERE h.table_version = coalesce(v.table_version, 1)
    GROUP BY h.table_name, h.table_version
), gaps AS (
    SELECT t.table_name, g.gap_start
    FROM tables AS t JOIN airflow_idempotent.events AS e ON e.event_id = coalesce(t.since_event, t.tried_event)
    CROSS JOIN LATERAL (
        SELECT min(found.gap_start) AS gap_start
        FROM airflow_idempotent.gaps_of(t.table_name, t.table_version) AS found
    ) AS g
    WHERE t.unpublished IS NOT NULL
       OR (t.follows AND (coalesce(e.consecutive_since, e.partition_start) < t.first_start
            OR t.seconds <> extract(epoch FROM t.last_end - t.first_start)))
), drift AS (
    SELECT d.table_name, d.table_version, count(DISTINCT d.partition_key) AS drifted
    FROM airflow_idempotent.open_drift AS d GROUP BY d.table_name, d.table_version
)
SELECT t.table_name, t.table_version, t.partitions, t.validated, t.published, t.landed, t.rejected, t.failed,
       coalesce(d.drifted, 0), t.first_start, t.last_end, least(t.until, g.gap_start), g.gap_start, e.recorded_at
FROM tables AS t
JOIN airflow_idempotent.events AS e ON e.event_id = t.event_id
LEFT JOIN gaps AS g ON g.table_name = t.table_name
LEFT JOIN drift AS d ON (d.table_name, d.table_version) = (t.table_name, t.table_version)
ORDER BY t.table_name
"""
)
"""Per table its live version, partitions by state, how far scheduled runs are, and the first gap."""

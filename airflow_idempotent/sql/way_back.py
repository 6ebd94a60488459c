"""What a rollback would lose. Fixed text: no value is ever pasted into it."""

from __future__ import annotations

from datetime import datetime

from airflow_idempotent.sql.statement import Statement

# A partition that the other version never had counts from its first one on: what was there before the ledger is not
# known to it.
_LOST = """
SELECT live.partition_key FROM (
    SELECT partition_key, min(partition_start) AS partition_start,
           max(event_id) FILTER (WHERE inserted + updated + deleted > 0 AND recorded_at >= %(since)s) AS event_id
    FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND table_version = %(live)s AND step = 'stage_merge' AND state = 'published'
    GROUP BY partition_key
) AS live
CROSS JOIN (
    SELECT min(partition_start) AS begin FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND table_version = %(to)s AND step = 'stage_merge' AND state = 'published'
) AS known
WHERE (live.event_id IS NOT NULL OR live.partition_start >= known.begin)
  AND NOT EXISTS (
    SELECT FROM airflow_idempotent.events AS e
    WHERE e.table_name = %(table)s AND e.table_version = %(to)s AND e.partition_key = live.partition_key
      AND e.step = 'stage_merge' AND e.state = 'published' AND e.event_id > coalesce(live.event_id, 0))
ORDER BY live.partition_start
"""


def lost(name: str, live: int, to: int, since: datetime | None) -> Statement:
    """Keys of partitions in which the live version has got rows since then, or that it has alone."""
    return Statement(_LOST, {"table": name, "live": live, "to": to, "since": since or "infinity"})

"""What a rollback would lose. Fixed text: no value is ever pasted into it."""

from __future__ import annotations

from datetime import datetime

from airflow_idempotent.sql.statement import Statement

_LOST = """
SELECT live.partition_key FROM (
    SELECT partition_key, min(partition_start) AS partition_start, max(event_id) AS event_id
    FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND table_version = %(live)s AND step = 'stage_merge' AND state = 'published'
      AND inserted + updated + deleted > 0 AND recorded_at >= %(since)s
    GROUP BY partition_key
) AS live
WHERE NOT EXISTS (
    SELECT FROM airflow_idempotent.events AS e
    WHERE e.table_name = %(table)s AND e.table_version = %(to)s AND e.partition_key = live.partition_key
      AND e.step = 'stage_merge' AND e.state = 'published' AND e.event_id > live.event_id)
ORDER BY live.partition_start
"""


def lost(name: str, live: int, to: int, since: datetime | None) -> Statement:
    """Keys of partitions into which the live version has got rows since then, and the other has not after it."""
    return Statement(_LOST, {"table": name, "live": live, "to": to, "since": since or "infinity"})

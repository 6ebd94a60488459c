"""Earlier publications in the ledger that checks compare with. Backfills are none of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from airflow_idempotent.sql.statement import Statement


def latest_publication(
    table: str, version: int, spans: Sequence[tuple[datetime, datetime]], other_than: str | None = None
) -> Statement:
    """The last publication of the latest of these partitions that has any; of other content where it is given.

    So a batch that is loaded again is compared with what was there before it, not with itself.
    """
    binds = {"table": table, "version": version, "content": other_than}
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return Statement(
        """
SELECT event_id, partition_key, batch_id, staged_rows - duplicate - rejected, row_count, digest
FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s
  AND step = 'stage_merge' AND state = 'published' AND lane <> 'backfill'
  AND (partition_start, partition_end) IN (SELECT * FROM unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[]))
  AND (%(content)s::text IS NULL OR content_fingerprint <> %(content)s::text)
ORDER BY partition_start DESC, event_id DESC LIMIT 1
""",
        {**binds, "starts": starts, "ends": ends},
    )


def measured(event_id: int, step: str) -> Statement:
    """What checks measured of a publication: before its gate, or when it was last validated."""
    return Statement(
        """
SELECT result.check_name, result.observed
FROM airflow_idempotent.check_results AS result
WHERE result.event_id = (
    SELECT max(later.event_id)
    FROM airflow_idempotent.events AS later JOIN airflow_idempotent.events AS load
      ON (later.table_name, later.table_version, later.partition_key, later.batch_id)
       = (load.table_name, load.table_version, load.partition_key, load.batch_id)
    WHERE load.event_id = %(event_id)s AND later.event_id >= load.event_id AND later.step = %(step)s
      AND later.state IN ('published', 'validated'))
""",
        {"event_id": event_id, "step": step},
    )

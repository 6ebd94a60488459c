"""What the ledger knows of earlier verdicts. Fixed text."""

from __future__ import annotations

from airflow_idempotent.sql.statement import Statement

HELD_COLUMNS = (
    "event_id", "state", "batch_id", "spec_fingerprint", "row_count", "digest", "recorded_at", "began", "newest",
    "touched",
)  # fmt: skip

SLACK = "1 minute"
"""A load writes its event before it commits, and may be seen so much later."""


def held(table: str, version: int, partition: str, run: str) -> Statement:
    """The last verdict on a partition that a run other than this one has given, and what was published since.

    ``run`` is how the attempts of this run begin, ``dag_id/run_id/``. Verdicts from outside Airflow told nobody.
    """
    return Statement(
        """
SELECT v.event_id, v.state, v.batch_id, v.spec_fingerprint, v.row_count, v.digest, v.recorded_at,
       v.recorded_at - coalesce(v.seconds, 0) * interval '1 second' - %(slack)s::interval,
       NOT EXISTS (SELECT FROM airflow_idempotent.events e
                   WHERE e.table_name = v.table_name AND e.table_version = v.table_version
                     AND e.partition_key = v.partition_key AND e.event_id > v.event_id),
       (SELECT coalesce(sum(e.inserted + e.updated + e.deleted), 0)::bigint FROM airflow_idempotent.events e
        WHERE e.table_name = v.table_name AND e.table_version = v.table_version
          AND e.partition_key = v.partition_key AND e.event_id > v.event_id
          AND e.step = 'stage_merge' AND e.state = 'published')
FROM airflow_idempotent.events v
WHERE v.table_name = %(table)s AND v.table_version = %(version)s AND v.partition_key = %(partition)s
  AND v.step = 'validate' AND v.attempt <> '' AND NOT starts_with(v.attempt, %(run)s)
ORDER BY v.event_id DESC LIMIT 1
""",
        {"table": table, "version": version, "partition": partition, "run": run, "slack": SLACK},
    )

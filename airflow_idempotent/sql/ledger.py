"""What is asked of the ledger, and what is written to it. Fixed text: no value is ever pasted into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_idempotent.sql.statement import Statement

EVENT_COLUMNS = (
    "table_name", "table_version", "partition_key", "partition_start", "partition_end", "batch_id", "step", "state",
    "spec_fingerprint", "content_fingerprint", "staged_rows",
    "inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected",
    "row_count", "digest", "min_version", "max_version", "min_event_time", "max_event_time", "cutoff_ts",
    "beyond_batch", "cursor_name", "read_from", "watermark", "null_cursor_rows", "future_rows", "late_rows",
    "too_late_rows", "read_from_number", "watermark_number", "consecutive_since",
    "lane", "attempt", "message", "seconds", "previous_hash", "hash",
)  # fmt: skip

LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(%(key)s)"
LOCK = "SELECT pg_advisory_xact_lock(%(key)s)"

AS_OF_NOW = Statement("SELECT pg_stat_clear_snapshot()")
"""In a transaction, pg_stat_activity stays as it was when it was first read."""

HOLDERS = """
SELECT DISTINCT round(extract(epoch FROM clock_timestamp() - a.xact_start))::bigint, a.pid,
       coalesce(nullif(a.application_name, ''), a.usename), a.state
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)
WHERE l.granted AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
  AND ((l.locktype = 'advisory' AND (l.classid::bigint << 32 | l.objid::bigint) = ANY (%(keys)s::bigint[]))
    OR (l.locktype = 'relation' AND (%(readers)s OR l.mode <> 'AccessShareLock')
      AND (l.relation = to_regclass(%(table)s)
        OR l.relation IN (SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = to_regclass(%(table)s)))))
ORDER BY 1 DESC, 2
"""


def receipt(table: str, version: int, partition: str, spec_fingerprint: str, content_fingerprint: str) -> Statement:
    """The newest published event of exactly this work, if nothing was published for the partition after it."""
    return Statement(
        f"""
SELECT {", ".join(RECEIPT_COLUMNS)} FROM airflow_idempotent.events
WHERE event_id = (
    SELECT max(event_id) FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key = %(partition)s
      AND step = 'stage_merge' AND state = 'published')
  AND spec_fingerprint = %(spec)s AND content_fingerprint = %(content)s
""",
        {
            "table": table,
            "version": version,
            "partition": partition,
            "spec": spec_fingerprint,
            "content": content_fingerprint,
        },
    )


def newer_snapshot(table: str, version: int, start: Any) -> Statement:
    """Whether a batch of a later partition was published, whenever it was landed."""
    return Statement(
        """
SELECT EXISTS (
    SELECT FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND table_version = %(version)s AND partition_start > %(start)s
      AND step = 'stage_merge' AND state = 'published')
""",
        {"table": table, "version": version, "start": start},
    )


def newer_batch(table: str, version: int, partition: str, revision: int, landed_at: str) -> Statement:
    """Whether a batch of a greater number was published after that instant."""
    return Statement(
        """
SELECT EXISTS (
    SELECT FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key = %(partition)s
      AND step = 'stage_merge' AND state = 'published' AND recorded_at > %(landed_at)s::timestamptz
      AND substring(batch_id FROM '[0-9]+$')::int > %(revision)s)
""",
        {"table": table, "version": version, "partition": partition, "revision": revision, "landed_at": landed_at},
    )


RECEIPT_COLUMNS = (
    "event_id", "batch_id", "state", "recorded_at", "staged_rows",
    "inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected",
    "min_version", "max_version", "min_event_time", "max_event_time", "row_count", "digest", "beyond_batch",
    "late_rows", "too_late_rows", "content_fingerprint",
)  # fmt: skip


def latest_published(table: str, version: int, partition: str) -> Statement:
    """The newest published event of a partition."""
    return Statement(
        f"""
SELECT {", ".join(RECEIPT_COLUMNS)} FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key = %(partition)s
  AND step = 'stage_merge' AND state = 'published'
ORDER BY event_id DESC LIMIT 1
""",
        {"table": table, "version": version, "partition": partition},
    )


def previous_hash(table: str, version: int, partition: str) -> Statement:
    """The hash of the newest event of a partition: the link the next one continues."""
    return Statement(
        """
SELECT hash FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key = %(partition)s
ORDER BY event_id DESC LIMIT 1
""",
        {"table": table, "version": version, "partition": partition},
    )


def batch_that_reached(
    table: str, version: int, partition: str, after: int, start: Any, end: Any, moved: bool = False, began: Any = None
) -> Statement:
    """A batch of another partition whose rows reached into this one while, or after, event ``after`` was made.

    The bounds are as the column compares them. With ``moved`` a batch that took rows out of this partition counts,
    too: it has updated or deleted some. ``began`` is when the measure began that stands in place of the event's.
    """
    return Statement(
        """
SELECT batch_id FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key <> %(partition)s
  AND (recorded_at > coalesce(%(began)s::timestamptz, (
        SELECT own.recorded_at - coalesce(own.seconds, 0) * interval '1 second'
        FROM airflow_idempotent.events own WHERE own.event_id = %(after)s))
    OR (event_id > %(after)s AND %(began)s::timestamptz IS NULL))
  AND step IN ('stage_merge', 'dedupe') AND state = 'published' AND inserted + updated + deleted > 0
  AND (min_event_time IS NULL OR (%(moved)s AND updated + deleted > 0)
    OR (min_event_time::timestamptz < %(end)s AND max_event_time::timestamptz >= %(start)s))
ORDER BY event_id DESC LIMIT 1
""",
        {
            "table": table,
            "version": version,
            "partition": partition,
            "after": after,
            "start": start,
            "end": end,
            "moved": moved,
            "began": began,
        },
    )


def record_event(values: Mapping[str, Any]) -> Statement:
    """Append one event; returns its id and the database's clock."""
    names = ", ".join(EVENT_COLUMNS)
    places = ", ".join(f"%({name})s" for name in EVENT_COLUMNS)
    text = f"INSERT INTO airflow_idempotent.events ({names}) VALUES ({places}) RETURNING event_id, recorded_at"
    return Statement(text, {name: values[name] for name in EVENT_COLUMNS})


RECORD_CHECK = """
INSERT INTO airflow_idempotent.check_results
    (event_id, check_name, severity, verdict, observed, rows, message, samples, query, expected)
VALUES (%(event_id)s, %(check)s, %(severity)s, %(verdict)s, %(observed)s, %(rows)s, %(message)s, %(samples)s, %(query)s,
        %(expected)s)
"""

RECORD_FAILURES = """
INSERT INTO airflow_idempotent.check_failures
    (event_id, table_name, table_version, partition_key, batch_id, check_name, number, content)
SELECT e.event_id, e.table_name, e.table_version, e.partition_key, e.batch_id, %(check)s::text, found.number, found.row
FROM airflow_idempotent.events AS e,
     unnest(%(failures)s::jsonb[]) WITH ORDINALITY AS found (row, number)
WHERE e.event_id = %(event_id)s
ON CONFLICT DO NOTHING  -- the same check twice, by another severity
"""

STATUS_COLUMNS = (
    "table_name", "partition_key", "state", "batch_id", "lane", "staged_rows",
    "inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected",
    "row_count", "digest", "spec_fingerprint", "content_fingerprint", "seconds", "recorded_at", "attempt", "message",
    "drift",
)  # fmt: skip


def partition_states(
    table: str | None = None, start: Any = None, end: Any = None, version: int | None = None
) -> Statement:
    """The state of each partition, with the effects of its newest load; all tables when ``table`` is None.

    Of the version that is live, unless one is named.
    """
    return Statement(
        f"""
SELECT {", ".join(STATUS_COLUMNS)} FROM airflow_idempotent.partitions
LEFT JOIN LATERAL (  -- what audits have found and nothing has healed
    SELECT array_agg(d.cause ORDER BY d.cause) AS drift FROM airflow_idempotent.open_drift d
    WHERE (d.table_name, d.table_version, d.partition_key)
        = (partitions.table_name, partitions.table_version, partitions.partition_key)
) AS found ON true
WHERE (%(table)s::text IS NULL OR table_name = %(table)s::text)
  AND partitions.table_version = coalesce(%(version)s::int, (
    SELECT v.table_version FROM airflow_idempotent.table_versions AS v
    WHERE v.table_name = partitions.table_name AND v.state = 'SWAPPED'), 1)
  AND (%(start)s::timestamptz IS NULL OR partition_start >= %(start)s::timestamptz)
  AND (%(end)s::timestamptz IS NULL OR partition_start < %(end)s::timestamptz)
ORDER BY table_name, partition_start
""",
        {"table": table, "start": start, "end": end, "version": version},
    )

"""What an audit asks of the ledger, and what it writes to it. Fixed text: no value is ever pasted into it."""

from __future__ import annotations

from typing import Any

from airflow_idempotent.sql.statement import Statement

DUE = """
SELECT load.partition_key, load.partition_start, load.partition_end, load.event_id, load.batch_id,
       load.spec_fingerprint, load.content_fingerprint,
       coalesce(seen.audited_at, load.first_recorded), coalesce(seen.run = %(run)s AND %(run)s <> '', false),
       EXISTS (SELECT FROM airflow_idempotent.open_drift d
               WHERE d.table_name = %(table)s AND d.table_version = %(version)s
                 AND d.partition_key = load.partition_key),
       coalesce(tried.batch_id, '')
FROM (
    SELECT DISTINCT ON (partition_key) *, min(recorded_at) OVER (PARTITION BY partition_key) AS first_recorded
    FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key <> '*'
      AND step = 'stage_merge' AND state = 'published'
      AND (%(start)s::timestamptz IS NULL OR partition_start >= %(start)s::timestamptz)
      AND (%(end)s::timestamptz IS NULL OR partition_start < %(end)s::timestamptz)
    ORDER BY partition_key, event_id DESC
) AS load
LEFT JOIN LATERAL (
    SELECT a.audited_at, a.run FROM airflow_idempotent.audits a
    WHERE a.table_name = %(table)s AND a.table_version = %(version)s AND a.partition_key = load.partition_key
    ORDER BY a.audit_id DESC LIMIT 1
) AS seen ON true
LEFT JOIN LATERAL (  -- what was refused since
    SELECT e.batch_id FROM airflow_idempotent.events e
    WHERE e.table_name = %(table)s AND e.table_version = %(version)s AND e.partition_key = load.partition_key
      AND e.event_id > load.event_id AND e.step = 'stage_merge' AND e.state IN ('failed', 'rejected')
    ORDER BY e.event_id DESC LIMIT 1
) AS tried ON true
ORDER BY load.partition_start
"""

_RECORD_SHAPE = """
INSERT INTO airflow_idempotent.shapes (table_name, table_version, event_id, columns)
SELECT %(table)s, %(version)s, %(event)s, %(columns)s::jsonb
WHERE %(columns)s::jsonb IS DISTINCT FROM (
    SELECT columns FROM airflow_idempotent.shapes
    WHERE table_name = %(table)s AND table_version = %(version)s ORDER BY shape_id DESC LIMIT 1)
"""

_SHAPE_AT = """
SELECT event_id, columns::text, recorded_at FROM airflow_idempotent.shapes
WHERE table_name = %(table)s AND table_version = %(version)s AND event_id <= %(event)s
ORDER BY event_id DESC, shape_id DESC LIMIT 1
"""

_BASELINE = """
SELECT row_count, digest, columns::text, began_at FROM airflow_idempotent.audits
WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key = %(partition)s
  AND event_id = %(event)s AND baseline <> ''
ORDER BY audit_id DESC LIMIT 1
"""

_RECORD_AUDIT = """
INSERT INTO airflow_idempotent.audits
    (table_name, table_version, partition_key, event_id, row_count, digest, columns, baseline, run, began_at)
VALUES (%(table)s, %(version)s, %(partition)s, %(event)s, %(row_count)s, %(digest)s, %(columns)s::jsonb, %(baseline)s,
    %(run)s, %(began)s)
"""

_LATEST_DRIFT = """
SELECT DISTINCT ON (d.cause) d.cause, EXISTS (
    SELECT FROM airflow_idempotent.open_drift o
    WHERE o.table_name = %(table)s AND o.table_version = %(version)s AND o.partition_key = %(partition)s
      AND o.drift_id = d.drift_id)
FROM airflow_idempotent.drift d
WHERE d.table_name = %(table)s AND d.table_version = %(version)s AND d.partition_key = %(partition)s
  AND NOT EXISTS (  -- what was closed is past
    SELECT FROM airflow_idempotent.drift later
    WHERE later.table_name = %(table)s AND later.table_version = %(version)s AND later.partition_key = %(partition)s
      AND later.cause = d.cause AND later.drift_id > d.drift_id AND later.state = 'closed')
  AND d.state = 'open'
ORDER BY d.cause, d.drift_id DESC
"""

_RECORD_DRIFT = """
INSERT INTO airflow_idempotent.drift (table_name, table_version, partition_key, cause, state, event_id, message, run)
VALUES (%(table)s, %(version)s, %(partition)s, %(cause)s, %(state)s, %(event)s, %(message)s, %(run)s)
"""

_OPEN_DRIFT = """
SELECT table_name, partition_key, cause, event_id, message, run, recorded_at FROM airflow_idempotent.open_drift
WHERE (%(table)s::text IS NULL OR table_name = %(table)s::text)
  AND table_version = coalesce(%(version)s::int, (SELECT v.table_version FROM airflow_idempotent.table_versions AS v
                                WHERE v.table_name = open_drift.table_name AND v.state = 'SWAPPED'), 1)
ORDER BY table_name, partition_key, cause
"""

_SWAPPED_SINCE = """
SELECT table_version FROM airflow_idempotent.versions
WHERE table_name = %(table)s AND state = 'SWAPPED' AND table_version <> %(version)s
  AND since > coalesce(%(began)s::timestamptz,
    (SELECT recorded_at FROM airflow_idempotent.events WHERE event_id = %(event)s))
ORDER BY entry_id DESC LIMIT 1
"""

_NEWEST_EVENT_ID = """
SELECT coalesce(max(event_id), 0) FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s
"""

_EVENT_OF_BATCH = """
SELECT step, state FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key = %(partition)s
  AND batch_id = %(batch)s AND content_fingerprint = %(content)s
ORDER BY event_id DESC LIMIT 1
"""

BEGAN = Statement("SELECT now()")
"""When this transaction began: no later than its snapshot."""

NEWEST_EVENT = 2**63 - 1


def due(table: str, version: int, run: str, start: Any = None, end: Any = None) -> Statement:
    """The published partitions of a table, with what decides when each is audited."""
    return Statement(DUE, {"table": table, "version": version, "run": run, "start": start, "end": end})


def record_shape(table: str, version: int, event_id: int, columns: str) -> Statement:
    """Write down the columns of a table, when they are others than those known."""
    binds = {"table": table, "version": version, "event": event_id, "columns": columns}
    return Statement(_RECORD_SHAPE, binds)


def shape_at(table: str, version: int, event_id: int | None = None) -> Statement:
    """The columns that a table had at an event, or that the newest load has seen."""
    event = NEWEST_EVENT if event_id is None else event_id
    return Statement(_SHAPE_AT, {"table": table, "version": version, "event": event})


def baseline(table: str, version: int, partition: str, event_id: int) -> Statement:
    """What stands for a partition in place of what its load has measured."""
    return Statement(_BASELINE, {"table": table, "version": version, "partition": partition, "event": event_id})


def record_audit(table: str, version: int, partition: str, **values: Any) -> Statement:
    """Write down that a partition was looked at."""
    return Statement(_RECORD_AUDIT, {"table": table, "version": version, "partition": partition, **values})


def latest_drift(table: str, version: int, partition: str) -> Statement:
    """The causes of a partition that were opened and not closed, and whether each is open still, unhealed by a load."""
    return Statement(_LATEST_DRIFT, {"table": table, "version": version, "partition": partition})


def record_drift(table: str, version: int, partition: str, **values: Any) -> Statement:
    """Open or close a finding."""
    return Statement(_RECORD_DRIFT, {"table": table, "version": version, "partition": partition, **values})


def open_drift(table: str | None = None, version: int | None = None) -> Statement:
    """All that was found and is not healed, of one table or of all; of the version that is live, or of another."""
    return Statement(_OPEN_DRIFT, {"table": table, "version": version})


def swapped_since(table: str, event_id: int, began: Any = None, version: int = 0) -> Statement:
    """Another version that has become the live table after an event, or after that instant."""
    binds = {"table": table, "event": event_id, "began": began, "version": version}
    return Statement(_SWAPPED_SINCE, binds)


def known_version(table: str, live: int) -> Statement:
    """The newest version up to the live one of which a load is known; the live one where none is."""
    return Statement(
        """
SELECT coalesce(max(table_version), %(live)s::int) FROM airflow_idempotent.partition_heads
WHERE table_name = %(table)s AND table_version <= %(live)s::int AND load_event_id IS NOT NULL
""",
        {"table": table, "live": live},
    )


def newest_event_id(table: str, version: int) -> Statement:
    """The id of the newest event of a table; 0 when there is none."""
    return Statement(_NEWEST_EVENT_ID, {"table": table, "version": version})


def event_of_batch(table: str, version: int, partition: str, batch: str, content: str) -> Statement:
    """What the ledger said of a batch last."""
    binds = {"table": table, "version": version, "partition": partition, "batch": batch, "content": content}
    return Statement(_EVENT_OF_BATCH, binds)

"""The ledger's tables, and what is asked of them. Fixed text: nothing is ever pasted into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_idempotent.sql.statement import Statement

SCHEMA_VERSION = 1

EVENT_COLUMNS = (
    "table_name", "table_version", "partition_key", "partition_start", "partition_end", "batch_id", "step", "state",
    "spec_fingerprint", "content_fingerprint", "staged_rows",
    "inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected",
    "row_count", "digest", "min_version", "max_version", "min_event_time", "max_event_time", "cutoff_ts",
    "lane", "attempt", "message", "seconds", "previous_hash", "hash",
)  # fmt: skip

# Every upgrade is one entry; an installed ledger runs those after its own version.
UPGRADES = (
    """
DO $$ BEGIN
    -- Not IF NOT EXISTS, which asks for a right on the database first.
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'airflow_idempotent') THEN
        CREATE SCHEMA airflow_idempotent;
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS airflow_idempotent.ledger_version (
    version      int PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE airflow_idempotent.events (
    event_id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name          text NOT NULL,
    table_version       int NOT NULL DEFAULT 1,
    partition_key       text NOT NULL,
    partition_start     timestamptz NOT NULL,
    partition_end       timestamptz NOT NULL,
    batch_id            text NOT NULL,
    step                text NOT NULL CHECK (step IN ('land', 'stage_merge', 'validate', 'swap')),
    state               text NOT NULL CHECK (state IN ('landed', 'published', 'validated', 'rejected', 'failed')),
    spec_fingerprint    text NOT NULL,
    content_fingerprint text NOT NULL,
    staged_rows         bigint NOT NULL DEFAULT 0,
    inserted            bigint NOT NULL DEFAULT 0 CHECK (inserted >= 0),
    updated             bigint NOT NULL DEFAULT 0 CHECK (updated >= 0),
    deleted             bigint NOT NULL DEFAULT 0 CHECK (deleted >= 0),
    unchanged           bigint NOT NULL DEFAULT 0 CHECK (unchanged >= 0),
    stale               bigint NOT NULL DEFAULT 0 CHECK (stale >= 0),
    duplicate           bigint NOT NULL DEFAULT 0 CHECK (duplicate >= 0),
    rejected            bigint NOT NULL DEFAULT 0 CHECK (rejected >= 0),
    row_count           bigint,
    digest              text,
    min_version         text,
    max_version         text,
    min_event_time      text,
    max_event_time      text,
    cutoff_ts           timestamptz,
    lane                text NOT NULL CHECK (lane IN ('scheduled', 'backfill', 'manual')),
    attempt             text NOT NULL DEFAULT '',
    message             text NOT NULL DEFAULT '',
    seconds             double precision,
    recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    previous_hash       text NOT NULL,
    hash                text NOT NULL,
    CHECK (partition_start < partition_end),
    CONSTRAINT every_row_accounted_for CHECK (
        step <> 'stage_merge' OR state <> 'published'
        OR staged_rows = inserted + updated + unchanged + stale + duplicate + rejected),
    CONSTRAINT one_chain_per_partition UNIQUE (table_name, table_version, partition_key, previous_hash)
);
CREATE INDEX ON airflow_idempotent.events (table_name, table_version, partition_key, event_id DESC);

CREATE TABLE airflow_idempotent.check_results (
    event_id    bigint NOT NULL REFERENCES airflow_idempotent.events,
    check_name  text NOT NULL,
    severity    text NOT NULL CHECK (severity IN ('warn', 'error')),
    verdict     text NOT NULL CHECK (verdict IN ('passed', 'warned', 'failed', 'not_evaluated')),
    observed    bigint,
    rows        bigint NOT NULL,
    message     text NOT NULL,
    samples     text[] NOT NULL,
    query       text NOT NULL
);
CREATE INDEX ON airflow_idempotent.check_results (event_id);

CREATE FUNCTION airflow_idempotent.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'airflow_idempotent.% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.events
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.check_results
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

CREATE VIEW airflow_idempotent.partitions AS
    SELECT DISTINCT ON (table_name, table_version, partition_key) *
    FROM airflow_idempotent.events
    ORDER BY table_name, table_version, partition_key, event_id DESC;

CREATE VIEW airflow_idempotent.watermarks AS
    SELECT table_name, table_version,
           (array_agg(max_version ORDER BY
                CASE WHEN max_version ~ '^-?[0-9]+([.][0-9]+)?$' THEN max_version::numeric END DESC NULLS LAST,
                max_version DESC))[1] AS watermark,
           max(partition_end) AS loaded_until, max(recorded_at) AS recorded_at
    FROM (
        SELECT table_name, table_version, partition_end, recorded_at,
               CASE WHEN max_version ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:.]{8,15}([+-][0-9:]{2,8})?)?$'
                    THEN least(max_version COLLATE "C",  -- as text: what only looks like a time cannot be cast
                               to_char(partition_end AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || '+00')
                    ELSE max_version END AS max_version
        FROM airflow_idempotent.events
        WHERE step = 'stage_merge' AND state = 'published' AND lane = 'scheduled'
    ) AS published
    GROUP BY table_name, table_version;
""",
)

# From the tables of the catalogue: to_regclass() may remember what was so before a lock was waited for.
INSTALLED = Statement("""
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'airflow_idempotent' AND c.relname = 'ledger_version')
""")
VERSION = Statement("SELECT coalesce(max(version), 0) FROM airflow_idempotent.ledger_version")


def installed(version: int) -> Statement:
    """Write down that the ledger has this version."""
    return Statement(
        "INSERT INTO airflow_idempotent.ledger_version (version) VALUES (%(version)s)", {"version": version}
    )


LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(%(key)s)"
LOCK = "SELECT pg_advisory_xact_lock(%(key)s)"

HOLDERS = """
SELECT DISTINCT a.pid, coalesce(nullif(a.application_name, ''), a.usename), a.state,
       round(extract(epoch FROM clock_timestamp() - a.xact_start))::bigint
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)
WHERE l.granted AND a.pid <> pg_backend_pid()
  AND ((l.locktype = 'advisory' AND (l.classid::bigint << 32 | l.objid::bigint) = ANY (%(keys)s::bigint[]))
    OR (l.locktype = 'relation' AND l.relation = to_regclass(%(table)s) AND l.mode <> 'AccessShareLock'))
ORDER BY 1
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
    "min_version", "max_version", "min_event_time", "max_event_time", "row_count", "digest", "content_fingerprint",
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


def batch_that_reached(table: str, version: int, partition: str, after: int, start: Any, end: Any) -> Statement:
    """A later batch of another partition whose rows reached into this one; bounds as its column compares them."""
    return Statement(
        """
SELECT batch_id FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key <> %(partition)s AND event_id > %(after)s
  AND step = 'stage_merge' AND state = 'published' AND inserted + updated + deleted > 0
  AND (min_event_time IS NULL OR (min_event_time::timestamptz < %(end)s AND max_event_time::timestamptz >= %(start)s))
ORDER BY event_id DESC LIMIT 1
""",
        {"table": table, "version": version, "partition": partition, "after": after, "start": start, "end": end},
    )


def record_event(values: Mapping[str, Any]) -> Statement:
    """Append one event; returns its id and the database's clock."""
    names = ", ".join(EVENT_COLUMNS)
    places = ", ".join(f"%({name})s" for name in EVENT_COLUMNS)
    text = f"INSERT INTO airflow_idempotent.events ({names}) VALUES ({places}) RETURNING event_id, recorded_at"
    return Statement(text, {name: values[name] for name in EVENT_COLUMNS})


RECORD_CHECK = """
INSERT INTO airflow_idempotent.check_results
    (event_id, check_name, severity, verdict, observed, rows, message, samples, query)
VALUES (%(event_id)s, %(check)s, %(severity)s, %(verdict)s, %(observed)s, %(rows)s, %(message)s, %(samples)s, %(query)s)
"""

STATUS_COLUMNS = (
    "table_name", "partition_key", "state", "batch_id", "lane", "staged_rows",
    "inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected",
    "row_count", "digest", "spec_fingerprint", "content_fingerprint", "seconds", "recorded_at", "attempt", "message",
)  # fmt: skip


def partition_states(table: str | None = None, start: Any = None, end: Any = None) -> Statement:
    """The state of each partition, with the effects of its newest load; all tables when ``table`` is None."""
    names = ", ".join(f"p.{name}" if name not in _OF_LOAD else f"l.{name}" for name in STATUS_COLUMNS)
    return Statement(
        f"""
SELECT {names} FROM airflow_idempotent.partitions p
LEFT JOIN LATERAL (
    SELECT * FROM airflow_idempotent.events e
    WHERE (e.table_name, e.table_version, e.partition_key) = (p.table_name, p.table_version, p.partition_key)
      AND e.step = 'stage_merge' AND e.state = 'published'
    ORDER BY event_id DESC LIMIT 1) l ON true
WHERE (%(table)s::text IS NULL OR p.table_name = %(table)s::text)
  AND (%(start)s::timestamptz IS NULL OR p.partition_start >= %(start)s::timestamptz)
  AND (%(end)s::timestamptz IS NULL OR p.partition_start < %(end)s::timestamptz)
ORDER BY p.table_name, p.partition_start
""",
        {"table": table, "start": start, "end": end},
    )


_OF_LOAD = {
    "staged_rows", "inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected",
    "row_count", "digest", "seconds", "spec_fingerprint", "content_fingerprint",
}  # fmt: skip

WATERMARKS = Statement(
    "SELECT table_name, watermark, loaded_until, recorded_at FROM airflow_idempotent.watermarks ORDER BY 1"
)

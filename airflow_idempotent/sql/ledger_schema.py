"""The ledger's tables and views, and how an older ledger becomes this version. Fixed text."""

from __future__ import annotations

from airflow_idempotent.sql.audit_schema import AUDITS
from airflow_idempotent.sql.check_schema import CHECKS
from airflow_idempotent.sql.head_schema import HEADS
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.sql.version_schema import VERSIONS
from airflow_idempotent.sql.watermark_schema import DERIVED, WATERMARKS

SCHEMA_VERSION = 3

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
    SELECT newest.table_name, newest.table_version, newest.partition_key, newest.partition_start, newest.partition_end,
           newest.state, newest.batch_id, newest.lane, newest.attempt, newest.message, newest.recorded_at,
           load.batch_id AS published_batch_id, load.staged_rows, load.inserted, load.updated, load.deleted,
           load.unchanged, load.stale, load.duplicate, load.rejected, load.row_count, load.digest,
           load.spec_fingerprint, load.content_fingerprint, load.seconds
    FROM (
        SELECT DISTINCT ON (table_name, table_version, partition_key) *
        FROM airflow_idempotent.events
        ORDER BY table_name, table_version, partition_key, event_id DESC
    ) AS newest
    LEFT JOIN LATERAL (  -- what was published last, whatever was tried or found since
        SELECT * FROM airflow_idempotent.events AS e
        WHERE (e.table_name, e.table_version, e.partition_key)
            = (newest.table_name, newest.table_version, newest.partition_key)
          AND e.step = 'stage_merge' AND e.state = 'published'
        ORDER BY e.event_id DESC LIMIT 1
    ) AS load ON true;

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
    # Version 2: strategies that write rows which no batch holds.
    """
ALTER TABLE airflow_idempotent.events
    ADD COLUMN beyond_batch bigint NOT NULL DEFAULT 0 CHECK (beyond_batch >= 0),
    DROP CONSTRAINT every_row_accounted_for,
    ADD CONSTRAINT every_row_accounted_for CHECK (
        step <> 'stage_merge' OR state <> 'published'
        OR staged_rows + beyond_batch = inserted + updated + deleted + unchanged + stale + duplicate + rejected),
    DROP CONSTRAINT events_step_check,
    ADD CONSTRAINT events_step_check CHECK (step IN ('land', 'stage_merge', 'validate', 'swap', 'dedupe'));

-- An event of the whole table has the partition '*', and is the state of none.
CREATE OR REPLACE VIEW airflow_idempotent.partitions AS
    SELECT newest.table_name, newest.table_version, newest.partition_key, newest.partition_start, newest.partition_end,
           newest.state, newest.batch_id, newest.lane, newest.attempt, newest.message, newest.recorded_at,
           load.batch_id AS published_batch_id, load.staged_rows, load.inserted, load.updated, load.deleted,
           load.unchanged, load.stale, load.duplicate, load.rejected, load.row_count, load.digest,
           load.spec_fingerprint, load.content_fingerprint, load.seconds
    FROM (
        SELECT DISTINCT ON (table_name, table_version, partition_key) *
        FROM airflow_idempotent.events
        WHERE partition_key <> '*'
        ORDER BY table_name, table_version, partition_key, event_id DESC
    ) AS newest
    LEFT JOIN LATERAL (  -- what was published last, whatever was tried or found since
        SELECT * FROM airflow_idempotent.events AS e
        WHERE (e.table_name, e.table_version, e.partition_key)
            = (newest.table_name, newest.table_version, newest.partition_key)
          AND e.step = 'stage_merge' AND e.state = 'published'
        ORDER BY e.event_id DESC LIMIT 1
    ) AS load ON true;

CREATE TABLE airflow_idempotent.quarantine (
    table_name      text NOT NULL,
    table_version   int NOT NULL DEFAULT 1,
    partition_key   text NOT NULL,
    batch_id        text NOT NULL,
    file            text NOT NULL,
    record          bigint NOT NULL,
    line            bigint,
    column_name     text,
    reason          text NOT NULL,
    content         jsonb NOT NULL,
    quarantined_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (table_name, table_version, partition_key, batch_id, file, record)
);
""",
    # Version 3: versions of a table beside the live one; checks that measure more; audits; late rows; what is newest.
    "".join((CHECKS, VERSIONS, AUDITS, WATERMARKS, HEADS, DERIVED)),
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

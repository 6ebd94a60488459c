"""The part of the ledger that audits write: columns, what was looked at, what was found. Fixed text."""

from __future__ import annotations

AUDITS = """
-- The columns of a table from an event on: a row for each change, written by the load that saw it first.
CREATE TABLE airflow_idempotent.shapes (
    shape_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name    text NOT NULL,
    table_version int NOT NULL DEFAULT 1,
    event_id      bigint NOT NULL,
    columns       jsonb NOT NULL,
    recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON airflow_idempotent.shapes (table_name, table_version, shape_id DESC);

-- A partition that was looked at. Where 'baseline' says why, its rows and columns stand for the partition from then on.
CREATE TABLE airflow_idempotent.audits (
    audit_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name    text NOT NULL,
    table_version int NOT NULL DEFAULT 1,
    partition_key text NOT NULL,
    event_id      bigint NOT NULL,
    row_count     bigint,
    digest        text,
    columns       jsonb,
    baseline      text NOT NULL DEFAULT '',
    run           text NOT NULL DEFAULT '',
    began_at      timestamptz NOT NULL,
    audited_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (baseline = '' OR (digest IS NOT NULL AND row_count IS NOT NULL AND columns IS NOT NULL))
);
CREATE INDEX ON airflow_idempotent.audits (table_name, table_version, partition_key, audit_id DESC);

CREATE TABLE airflow_idempotent.drift (
    drift_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name    text NOT NULL,
    table_version int NOT NULL DEFAULT 1,
    partition_key text NOT NULL,
    cause         text NOT NULL CHECK (cause IN
        ('source_changed', 'target_changed', 'schema_changed', 'batch_damaged', 'spec_changed')),
    state         text NOT NULL CHECK (state IN ('open', 'closed')),
    event_id      bigint NOT NULL,
    message       text NOT NULL,
    run           text NOT NULL DEFAULT '',
    recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON airflow_idempotent.drift (table_name, table_version, partition_key, cause, drift_id DESC);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.shapes
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.audits
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.drift
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

-- What was found and is not healed: by another audit, or by a load, which measures the partition anew.
CREATE VIEW airflow_idempotent.open_drift AS
    SELECT newest.* FROM (
        SELECT DISTINCT ON (table_name, table_version, partition_key, cause) *
        FROM airflow_idempotent.drift
        ORDER BY table_name, table_version, partition_key, cause, drift_id DESC
    ) AS newest
    WHERE newest.state = 'open'
      AND NOT EXISTS (
        SELECT FROM airflow_idempotent.events AS e
        WHERE (e.table_name, e.table_version, e.partition_key)
            = (newest.table_name, newest.table_version, newest.partition_key)
          AND e.event_id > newest.event_id AND e.step = 'stage_merge' AND e.state = 'published')
      AND NOT EXISTS (  -- of the whole table: a load has taken its columns as they are
        SELECT FROM airflow_idempotent.shapes AS s
        WHERE newest.partition_key = '*' AND s.event_id > newest.event_id
          AND (s.table_name, s.table_version) = (newest.table_name, newest.table_version));
"""

"""The journal of the versions of a table."""

from __future__ import annotations

VERSIONS = """
CREATE TABLE airflow_idempotent.versions (
    entry_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name       text NOT NULL,
    table_version    int NOT NULL CHECK (table_version > 0),
    relation         text NOT NULL,
    relation_oid     bigint NOT NULL,
    state            text NOT NULL
        CHECK (state IN ('PLANNED', 'BUILT', 'VALIDATED', 'SWAPPED', 'RETIRED', 'DROPPED', 'ROLLED_BACK')),
    source           text NOT NULL DEFAULT '',
    spec_fingerprint text NOT NULL DEFAULT '',
    names            jsonb NOT NULL DEFAULT '[]',
    pinned           boolean NOT NULL DEFAULT false,
    run              text NOT NULL DEFAULT '',
    attempt          text NOT NULL DEFAULT '',
    message          text NOT NULL DEFAULT '',
    since            timestamptz NOT NULL DEFAULT clock_timestamp(),
    recorded_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON airflow_idempotent.versions (table_name, table_version, entry_id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.versions
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

-- By which spec a version is loaded; a row for each that means something else. Written by the load that saw it first.
CREATE TABLE airflow_idempotent.version_specs (
    spec_id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name       text NOT NULL,
    table_version    int NOT NULL,
    spec_fingerprint text NOT NULL,
    spec             jsonb NOT NULL,
    recorded_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON airflow_idempotent.version_specs (table_name, table_version, spec_id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.version_specs
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

-- A partition of a version held against the live table; 'event_id' is the load of the version that was looked at.
CREATE TABLE airflow_idempotent.comparisons (
    comparison_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_name     text NOT NULL,
    table_version  int NOT NULL,
    live_version   int NOT NULL,
    partition_key  text NOT NULL,
    likeness       text NOT NULL CHECK (likeness IN ('clean', 'diverged', 'not_compared')),
    row_count      bigint,
    live_row_count bigint,
    digest         text,
    live_digest    text,
    message        text NOT NULL DEFAULT '',
    report         jsonb NOT NULL DEFAULT '[]',
    lane           text NOT NULL,
    event_id       bigint NOT NULL REFERENCES airflow_idempotent.events,
    compared_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON airflow_idempotent.comparisons (table_name, table_version, partition_key, comparison_id DESC);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.comparisons
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

CREATE VIEW airflow_idempotent.divergence AS
    SELECT DISTINCT ON (table_name, table_version, partition_key) *
    FROM airflow_idempotent.comparisons
    ORDER BY table_name, table_version, partition_key, comparison_id DESC;

CREATE VIEW airflow_idempotent.table_versions AS
    SELECT DISTINCT ON (table_name, table_version) *
    FROM airflow_idempotent.versions
    ORDER BY table_name, table_version, entry_id DESC;
"""

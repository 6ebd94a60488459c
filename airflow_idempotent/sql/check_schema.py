"""What the ledger keeps of checks: numbers that are no counts, rows that broke them, what later ones compare with."""

from __future__ import annotations

CHECKS = """
ALTER TABLE airflow_idempotent.check_results
    ALTER COLUMN observed TYPE numeric,
    ADD COLUMN expected numeric;

CREATE TABLE airflow_idempotent.check_failures (
    event_id      bigint NOT NULL REFERENCES airflow_idempotent.events,
    table_name    text NOT NULL,
    table_version int NOT NULL DEFAULT 1,
    partition_key text NOT NULL,
    batch_id      text NOT NULL,
    check_name    text NOT NULL,
    number        int NOT NULL,
    content       jsonb NOT NULL,
    PRIMARY KEY (event_id, check_name, number)
);

-- What later publications are compared with, so that no old rows are read again.
CREATE TABLE airflow_idempotent.profiles (
    event_id bigint PRIMARY KEY REFERENCES airflow_idempotent.events,
    profile  jsonb NOT NULL
);
CREATE TABLE airflow_idempotent.bucket_digests (
    event_id    bigint PRIMARY KEY REFERENCES airflow_idempotent.events,
    key_columns text[] NOT NULL,
    rows        bigint[] NOT NULL,
    digests     text[] NOT NULL,
    CHECK (cardinality(rows) > 0 AND cardinality(rows) = cardinality(digests))
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.profiles
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON airflow_idempotent.bucket_digests
    FOR EACH STATEMENT EXECUTE FUNCTION airflow_idempotent.refuse_change();

CREATE VIEW airflow_idempotent.checks AS
    SELECT e.event_id, e.table_name, e.table_version, e.partition_key, e.batch_id, e.content_fingerprint, e.digest,
           e.step, e.state, c.check_name, c.severity, c.verdict, c.observed, c.rows, c.message, c.samples, c.query,
           e.attempt, e.recorded_at
    FROM airflow_idempotent.check_results AS c JOIN airflow_idempotent.events AS e USING (event_id);
"""

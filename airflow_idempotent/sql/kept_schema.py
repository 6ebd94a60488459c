"""The ledger's tables of what publications leave for later comparisons. Fixed text, part of version 3."""

from __future__ import annotations

COMPARISONS = """
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
"""

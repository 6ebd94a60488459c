-- The limit: the fastest safe load of this workload that we know to write by hand, in one transaction.
--
--   psql -v file=batch.csv -f limits/merge.sql          (COPY through the client)
--
-- It knows this one table and counts nothing: it cannot say what it did, and of two rows with the same key and version it keeps any.
-- Reaching the target in key order by index probes is what makes it fast; docs/adr/0002 has what was tried beside it.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL work_mem = '256MB';
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
CREATE TEMP TABLE stg (order_id bigint NOT NULL, customer_id int, status text, amount numeric(12,2), note text,
    order_date date NOT NULL, updated_at timestamptz NOT NULL) ON COMMIT DROP;
\set copy '\\copy stg FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
ANALYZE stg;
MERGE INTO orders t
USING (SELECT DISTINCT ON (order_id) * FROM stg ORDER BY order_id, updated_at DESC) s ON s.order_id = t.order_id
WHEN MATCHED AND s.updated_at > t.updated_at THEN UPDATE SET customer_id = s.customer_id, status = s.status, amount = s.amount,
    note = s.note, order_date = s.order_date, updated_at = s.updated_at
WHEN NOT MATCHED THEN INSERT (order_id, customer_id, status, amount, note, order_date, updated_at)
    VALUES (s.order_id, s.customer_id, s.status, s.amount, s.note, s.order_date, s.updated_at);
COMMIT;

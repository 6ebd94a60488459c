-- append: the rows of the batch, once; staged first, as by every script, so that they can be looked at before they are in
-- the table. A COPY straight into it is faster, and takes whatever comes: docs/benchmarks.md has its time.
--
--   psql -v batch=20240301_01 -v file=batch.csv -f append.sql
\set ON_ERROR_STOP on
SELECT EXISTS (SELECT FROM orders WHERE _idem_batch_id = :'batch') AS loaded \gset
\if :loaded
\q
\endif
BEGIN;
SET LOCAL bench.batch = :'batch';
CREATE TEMP TABLE stg (order_id bigint NOT NULL, customer_id int, status text, amount numeric(12,2), note text,
    order_date date NOT NULL, updated_at timestamptz NOT NULL) ON COMMIT DROP;
\set copy '\\copy stg FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
INSERT INTO orders (order_id, customer_id, status, amount, note, order_date, updated_at) SELECT * FROM stg;
COMMIT;

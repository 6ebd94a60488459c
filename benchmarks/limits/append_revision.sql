-- append, when a newer batch of a partition takes the place of an older one: the rows of both are counted, +1 and -1,
-- and the difference is written; what is equal stays, and belongs to the older batch still.
--
--   psql -v batch=20240301_02 -v older=20240301_01 -v file=batch.csv -f append_revision.sql
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL work_mem = '256MB';
SET LOCAL bench.batch = :'batch';
CREATE TEMP TABLE stg (order_id bigint NOT NULL, customer_id int, status text, amount numeric(12,2), note text,
    order_date date NOT NULL, updated_at timestamptz NOT NULL) ON COMMIT DROP;
\set copy '\\copy stg FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
ANALYZE stg;
CREATE TEMP TABLE diff ON COMMIT DROP AS
SELECT order_id, customer_id, status, amount, note, order_date, updated_at, sum(sign) AS n, array_agg(place) FILTER (WHERE sign < 0) AS places
FROM (SELECT order_id, customer_id, status, amount, note, order_date, updated_at, ctid AS place, -1 AS sign FROM orders
      WHERE _idem_batch_id IN (:'older', :'batch')
      UNION ALL SELECT order_id, customer_id, status, amount, note, order_date, updated_at, NULL, 1 FROM stg) u
GROUP BY order_id, customer_id, status, amount, note, order_date, updated_at HAVING sum(sign) <> 0;
DELETE FROM orders WHERE ctid = ANY (ARRAY(SELECT unnest(places[:-n]) FROM diff WHERE n < 0));
INSERT INTO orders (order_id, customer_id, status, amount, note, order_date, updated_at) SELECT order_id, customer_id, status, amount, note, order_date, updated_at FROM diff, generate_series(1, n) WHERE n > 0;
COMMIT;

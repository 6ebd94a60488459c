-- delete_insert: all lines of the orders in the batch are exactly those of the batch; only lines that differ are written.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL work_mem = '256MB';
CREATE TEMP TABLE stg (order_id bigint NOT NULL, customer_id int, status text, amount numeric(12,2), note text,
    order_date date NOT NULL, updated_at timestamptz NOT NULL, line_no int NOT NULL) ON COMMIT DROP;
\set copy '\\copy stg FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
ANALYZE stg;
CREATE TEMP TABLE diff ON COMMIT DROP AS
SELECT t.ctid AS place, s.*
FROM (SELECT ctid, * FROM orders WHERE order_id IN (SELECT order_id FROM stg)) t
FULL JOIN stg s ON s.order_id = t.order_id AND s.line_no = t.line_no
WHERE t.order_id IS NULL OR s.order_id IS NULL OR (t.customer_id, t.status, t.amount, t.note, t.order_date, t.updated_at)
    IS DISTINCT FROM (s.customer_id, s.status, s.amount, s.note, s.order_date, s.updated_at);
-- By the place of each row; the planner would read the whole table again.
SET LOCAL enable_nestloop = on;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
DELETE FROM orders t USING diff d WHERE t.ctid = d.place AND d.order_id IS NULL;
UPDATE orders t SET customer_id = d.customer_id, status = d.status, amount = d.amount, note = d.note,
    order_date = d.order_date, updated_at = d.updated_at
FROM diff d WHERE t.ctid = d.place AND d.order_id IS NOT NULL;
INSERT INTO orders (order_id, customer_id, status, amount, note, order_date, updated_at, line_no)
SELECT order_id, customer_id, status, amount, note, order_date, updated_at, line_no FROM diff WHERE place IS NULL;
COMMIT;

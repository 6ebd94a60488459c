-- insert_overwrite of a partitioned table: the rows of the day are compared and counted; where they differ, the day is
-- built aside, and takes the place of the day that was. A second run finds no difference, and builds nothing.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL work_mem = '256MB';
CREATE TEMP TABLE stg (order_id bigint NOT NULL, customer_id int, status text, amount numeric(12,2), note text,
    order_date date NOT NULL, updated_at timestamptz NOT NULL) ON COMMIT DROP;
\set copy '\\copy stg FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
ANALYZE stg;
SELECT count(*) FILTER (WHERE t.order_id IS NULL) AS inserted, count(*) FILTER (WHERE s.order_id IS NULL) AS deleted,
    count(*) FILTER (WHERE t.order_id IS NOT NULL AND s.order_id IS NOT NULL) AS updated, count(*) > 0 AS differs
FROM (SELECT * FROM orders WHERE order_date = date '2024-03-01') t
FULL JOIN stg s ON s.order_id = t.order_id
WHERE t.order_id IS NULL OR s.order_id IS NULL OR (t.customer_id, t.status, t.amount, t.note, t.order_date, t.updated_at)
    IS DISTINCT FROM (s.customer_id, s.status, s.amount, s.note, s.order_date, s.updated_at) \gset
\if :differs
SELECT format('%I', c.relname) AS child FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'orders'::regclass AND pg_get_expr(c.relpartbound, c.oid) LIKE '%FROM (''2024-03-01'')%' \gset
CREATE TABLE built (LIKE orders INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
INSERT INTO built SELECT * FROM stg;
ALTER TABLE built ADD PRIMARY KEY (order_id, order_date), ADD CHECK (order_date >= '2024-03-01' AND order_date < '2024-03-02');
CREATE INDEX ON built (order_date);
ALTER TABLE orders DETACH PARTITION :child;
ALTER TABLE orders ATTACH PARTITION built FOR VALUES FROM ('2024-03-01') TO ('2024-03-02');
DROP TABLE :child;
ALTER TABLE built RENAME TO :child;
\endif
COMMIT;

-- insert_overwrite of a partitioned table: the day is built aside, and takes the place of the day that was.
\set ON_ERROR_STOP on
BEGIN;
SELECT format('%I', c.relname) AS child FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'orders'::regclass AND pg_get_expr(c.relpartbound, c.oid) LIKE '%FROM (''2024-03-01'')%' \gset
CREATE TABLE built (LIKE orders INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
\set copy '\\copy built FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
ALTER TABLE built ADD PRIMARY KEY (order_id, order_date), ADD CHECK (order_date >= '2024-03-01' AND order_date < '2024-03-02');
CREATE INDEX ON built (order_date);
ALTER TABLE orders DETACH PARTITION :child;
ALTER TABLE orders ATTACH PARTITION built FOR VALUES FROM ('2024-03-01') TO ('2024-03-02');
DROP TABLE :child;
ALTER TABLE built RENAME TO :child;
COMMIT;

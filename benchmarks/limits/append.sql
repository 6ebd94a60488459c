-- append: the rows of the batch, once. Straight into the table, where the column's default is the setting bench.batch.
--
--   psql -v batch=20240301_01 -v file=batch.csv -f append.sql
\set ON_ERROR_STOP on
SELECT EXISTS (SELECT FROM orders WHERE _idem_batch_id = :'batch') AS loaded \gset
\if :loaded
\q
\endif
BEGIN;
SET LOCAL bench.batch = :'batch';
\set copy '\\copy orders (order_id, customer_id, status, amount, note, order_date, updated_at) FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
COMMIT;

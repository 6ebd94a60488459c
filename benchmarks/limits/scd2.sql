-- scd2: a new version takes over the end of the one before it, and ends that one. Neighbours are found by index probes in key order.
--
-- It trusts the intervals that are stored: a hole that somebody made stays.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL work_mem = '256MB';
CREATE TEMP TABLE stg (order_id bigint NOT NULL, customer_id int, status text, amount numeric(12,2), note text,
    order_date date NOT NULL, updated_at timestamptz NOT NULL) ON COMMIT DROP;
\set copy '\\copy stg FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
ANALYZE stg;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
CREATE TEMP TABLE diff ON COMMIT DROP AS
SELECT s.*, p.place, coalesce(p.valid_to, n.at) AS stored
FROM (SELECT DISTINCT ON (order_id, updated_at) *, lead(updated_at) OVER (PARTITION BY order_id ORDER BY updated_at) AS next
      FROM stg ORDER BY order_id, updated_at) s
LEFT JOIN LATERAL (SELECT ctid AS place, valid_from AS at, valid_to FROM orders o
    WHERE o.order_id = s.order_id AND o.valid_from <= s.updated_at ORDER BY valid_from DESC LIMIT 1) p ON true
LEFT JOIN LATERAL (SELECT min(valid_from) AS at FROM orders o WHERE p.place IS NULL AND o.order_id = s.order_id) n ON true
WHERE p.at IS DISTINCT FROM s.updated_at;
UPDATE orders t SET valid_to = d.at
FROM (SELECT place, min(updated_at) AS at FROM diff WHERE place IS NOT NULL GROUP BY 1 ORDER BY 1) d WHERE t.ctid = d.place;
INSERT INTO orders (order_id, customer_id, status, amount, note, order_date, updated_at, valid_from, valid_to)
SELECT order_id, customer_id, status, amount, note, order_date, updated_at, updated_at, least(next, stored) FROM diff;
COMMIT;

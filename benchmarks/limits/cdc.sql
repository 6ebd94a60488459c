-- cdc: of each key the event of the greatest version; a key that is gone leaves its version in tombstones.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL work_mem = '256MB';
CREATE TEMP TABLE stg (order_id bigint NOT NULL, customer_id int, status text, amount numeric(12,2), note text,
    order_date date NOT NULL, updated_at timestamptz NOT NULL, op text NOT NULL, commit_version bigint NOT NULL) ON COMMIT DROP;
\set copy '\\copy stg FROM ' :'file' ' (FORMAT csv, HEADER)'
:copy
ANALYZE stg;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
MERGE INTO orders t
USING (SELECT DISTINCT ON (order_id) * FROM stg ORDER BY order_id, commit_version DESC) s ON s.order_id = t.order_id
WHEN MATCHED AND s.commit_version > t.commit_version AND s.op = 'D' THEN DELETE
WHEN MATCHED AND s.commit_version > t.commit_version THEN UPDATE SET customer_id = s.customer_id, status = s.status,
    amount = s.amount, note = s.note, order_date = s.order_date, updated_at = s.updated_at,
    commit_version = s.commit_version
WHEN NOT MATCHED AND s.op <> 'D' AND NOT EXISTS (SELECT FROM tombstones d
    WHERE d.order_id = s.order_id AND d.commit_version >= s.commit_version)
THEN INSERT (order_id, customer_id, status, amount, note, order_date, updated_at, commit_version)
    VALUES (s.order_id, s.customer_id, s.status, s.amount, s.note, s.order_date, s.updated_at, s.commit_version);
RESET enable_hashjoin;
RESET enable_mergejoin;
-- A delete that lost against a newer row needs no tombstone: that row stands.
INSERT INTO tombstones AS d
SELECT order_id, max(commit_version) FROM stg s
WHERE op = 'D' AND NOT EXISTS (SELECT FROM orders o WHERE o.order_id = s.order_id) GROUP BY 1 ORDER BY 1
ON CONFLICT (order_id) DO UPDATE SET commit_version = excluded.commit_version
WHERE excluded.commit_version > d.commit_version;
DELETE FROM tombstones d WHERE EXISTS (SELECT FROM stg s
    WHERE s.order_id = d.order_id AND s.op <> 'D' AND s.commit_version > d.commit_version);
COMMIT;

-- Rows with NULL are counted in the shared scan; their share is judged outside.
--
-- check: {null_rate: {columns: [status], max: 0.05}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

SELECT
  COUNT(*),
  COUNT(*) FILTER(WHERE
    "status" IS NULL)
FROM "pg_temp"."idem_winners";

SELECT
  CAST("status" AS TEXT)
FROM (
  SELECT
    *
  FROM "pg_temp"."idem_winners"
  WHERE
    "status" IS NULL
) AS "violations"
LIMIT 5;

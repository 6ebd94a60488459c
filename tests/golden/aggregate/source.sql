-- The rows as they landed, before duplicates were removed.
--
-- check: {aggregate: "sum(amount)"}
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--   unique_keys: [[order_id]]

SELECT
  COUNT(*),
  CAST((
    SUM(amount)
  ) AS DECIMAL)
FROM "pg_temp"."idem_winners";

SELECT
  CAST((
    SUM(amount)
  ) AS DECIMAL)
FROM "pg_temp"."idem_staging";

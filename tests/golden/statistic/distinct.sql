-- How many values there are.
--
-- check: {statistic: {of: distinct, column: status, geq_to: 2}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

-- binds: c0_geq_to = 2
SELECT
  COUNT(*),
  CAST(COUNT(DISTINCT "status") AS TEXT),
  COUNT(DISTINCT "status") >= %(c0_geq_to)s
FROM "pg_temp"."idem_winners";

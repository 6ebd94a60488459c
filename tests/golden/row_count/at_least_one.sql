-- The number of rows, by the scan that all checks share.
--
-- check: {row_count: {min: 1}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

SELECT
  COUNT(*),
  COUNT(*)
FROM "pg_temp"."idem_winners";

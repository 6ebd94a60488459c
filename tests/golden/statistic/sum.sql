-- The number as text, and whether it is within the tolerance: compared in the database.
--
-- check: {sum: {column: amount, equal_to: 100, tolerance: 0.05}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

-- binds: c0_equal_to_high = 105.00, c0_equal_to_low = 95.00
SELECT
  COUNT(*),
  CAST(SUM("amount") AS TEXT),
  SUM("amount") >= %(c0_equal_to_low)s AND SUM("amount") <= %(c0_equal_to_high)s
FROM "pg_temp"."idem_winners";

-- Rows and digest of one day of instants, half-open.
--
-- action: measure_partition
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     document: json
--     at: timestamp with time zone
--   unique_keys: [[order_id]]
-- column: at
-- partition: "2025-05-01"

-- binds: start = 2025-05-01 00:00:00+00:00, end = 2025-05-02 00:00:00+00:00
SELECT
  COUNT(*),
  CAST(COALESCE(
    SUM(
      HASH_RECORD_EXTENDED(ROW("order_id", "amount", CAST("document" AS TEXT), "at"), 0)
    ),
    0
  ) AS TEXT)
FROM "public"."orders"
WHERE
  "at" >= %(start)s AND "at" < %(end)s;

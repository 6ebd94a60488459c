-- Rows and digest of each of 64 parts of a day, cut by the key.
--
-- action: measure_partition
-- shape:
--   columns:
--     order_id: bigint not null
--     document: json
--     at: date
--   unique_keys: [[order_id]]
-- column: at
-- partition: "2025-05-01"
-- buckets: 64
-- key: [order_id]

-- binds: start = 2025-05-01, end = 2025-05-02
SELECT
  CAST(MOD(HASH_RECORD_EXTENDED(ROW("order_id"), 0) & 9223372036854775807, 64) AS INT),
  COUNT(*),
  CAST(COALESCE(SUM(HASH_RECORD_EXTENDED(ROW("order_id", CAST("document" AS TEXT), "at"), 0)), 0) AS TEXT)
FROM "public"."orders"
WHERE
  "at" >= %(start)s AND "at" < %(end)s
GROUP BY
  1;

-- Rows and digest of one day; what has no hash is hashed by its text.
--
-- action: measure_partition
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     document: json
--     at: date
--   unique_keys: [[order_id]]
-- column: at
-- partition: "2025-05-01"

-- binds: start = 2025-05-01, end = 2025-05-02
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

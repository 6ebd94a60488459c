-- What can share a scan shares one; uniqueness brings a query of its own.
--
-- action: run_checks
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]
-- rows: idem_winners
-- checks:
--   - row_count: {min: 1}
--   - not_null: [status]
--   - unique: [order_id, status]

SELECT
  COUNT(*),
  COUNT(*),
  COUNT(*),
  COUNT(*) FILTER(WHERE
    "status" IS NULL),
  COUNT(*)
FROM "pg_temp"."idem_winners";

SELECT
  COUNT(*),
  COUNT(DISTINCT HASH_RECORD_EXTENDED(ROW("order_id", "status"), 0))
FROM "pg_temp"."idem_winners";

-- Fresh rows, rows of the future, rows without a time, and the newest time that can be true.
--
-- check: {freshness: {column: updated_at, max_age: 6h}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

-- binds: c0_latest = 2025-05-02 00:05:00+00:00, c0_oldest = 2025-05-01 18:00:00+00:00
SELECT
  COUNT(*),
  COUNT(*) FILTER(WHERE
    "updated_at" <= %(c0_latest)s AND "updated_at" >= %(c0_oldest)s),
  COUNT(*) FILTER(WHERE
    "updated_at" > %(c0_latest)s),
  COUNT(*) FILTER(WHERE
    "updated_at" IS NULL),
  CAST(MAX("updated_at") FILTER(WHERE
    "updated_at" <= %(c0_latest)s) AS TEXT)
FROM "pg_temp"."idem_winners";

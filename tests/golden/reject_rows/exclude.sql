-- Rows without a time, and rows of other days, are left out.
--
-- action: reject_rows
-- shape:
--   columns:
--     order_id: bigint not null
--     order_date: date
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- event_time: order_date
-- partition: "2025-05-01"
-- missing: true
-- outside: true

-- binds: start = 2025-05-01, end = 2025-05-02
DELETE FROM "pg_temp"."idem_staging"
WHERE
  "order_date" IS NULL
  OR NOT (
    "order_date" >= %(start)s AND "order_date" < %(end)s
  );

-- One scan: rows, bounds of version and event time, NULL keys, digits that would be lost, numbers too
-- great.
--
-- action: inspect_batch
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     order_date: date
--     updated_at: timestamp with time zone
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- unique_key: [order_id]
-- version: [updated_at]
-- event_time: order_date

SELECT
  COUNT(*) AS rows,
  CAST(MIN("updated_at") AS TEXT) AS min_version,
  CAST(MAX("updated_at") AS TEXT) AS max_version,
  CAST(MIN("order_date") AS TEXT) AS min_event_time,
  CAST(MAX("order_date") AS TEXT) AS max_event_time,
  NULL AS outside,
  NULL AS missing,
  COUNT(*) FILTER(WHERE
    "order_id" IS NULL) AS "null:order_id",
  COUNT(*) FILTER(WHERE
    SCALE("amount") > 2 AND MIN_SCALE("amount") > 2) AS "scale:amount",
  COUNT(*) FILTER(WHERE
    (
      "amount" >= 10000000000 OR "amount" <= -10000000000
    ) AND "amount" <> 'NaN') AS "range:amount"
FROM "pg_temp"."idem_staging";

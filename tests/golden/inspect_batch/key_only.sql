-- Without version and event time there are no bounds to measure.
--
-- action: inspect_batch
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- unique_key: [order_id]

SELECT
  COUNT(*) AS rows,
  NULL AS min_version,
  NULL AS max_version,
  NULL AS min_event_time,
  NULL AS max_event_time,
  NULL AS outside,
  NULL AS missing,
  COUNT(*) FILTER(WHERE
    "order_id" IS NULL) AS "null:order_id"
FROM "pg_temp"."idem_staging";

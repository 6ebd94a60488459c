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
  COUNT(*) FILTER(WHERE
    "idem_key" = 0 AND "idem_rows0" > 1),
  COUNT(*) FILTER(WHERE
    "idem_key" = 0
    AND "idem_rows0" > 1
    AND (
      "order_id" IS NULL OR "status" IS NULL
    ))
FROM (
  SELECT
    "order_id",
    "status",
    GROUPING("order_id", "status") AS "idem_key",
    COUNT(*) AS "idem_rows0"
  FROM "pg_temp"."idem_winners"
  GROUP BY
    GROUPING SETS (
      ("order_id", "status")
    )
  HAVING
    COUNT(*) > 1
) AS "repeated";

-- A key breaks it when it is there more than once, NULLs counted as equal.
--
-- check: {unique: [order_id, status]}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

SELECT
  COUNT(*)
FROM "pg_temp"."idem_winners";

SELECT
  COUNT(*),
  COUNT(DISTINCT HASH_RECORD_EXTENDED(ROW("order_id", "status"), 0))
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

SELECT
  CAST("order_id" AS TEXT),
  CAST("status" AS TEXT)
FROM (
  SELECT
    "order_id",
    "status",
    COUNT(*) AS "rows"
  FROM "pg_temp"."idem_winners"
  GROUP BY
    "order_id",
    "status"
  HAVING
    COUNT(*) > 1
) AS "violations"
LIMIT 5;

-- A row breaks it when any of the columns is NULL; the second query shows some.
--
-- check: {not_null: [order_id, status]}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

SELECT
  COUNT(*),
  COUNT(*) FILTER(WHERE
    "order_id" IS NULL OR "status" IS NULL)
FROM "pg_temp"."idem_winners";

SELECT
  CAST("order_id" AS TEXT),
  CAST("status" AS TEXT)
FROM (
  SELECT
    *
  FROM "pg_temp"."idem_winners"
  WHERE
    "order_id" IS NULL OR "status" IS NULL
) AS "violations"
LIMIT 5;

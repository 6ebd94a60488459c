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
  COUNT(*)
FROM (
  SELECT
    "order_id",
    "status"
  FROM "pg_temp"."idem_winners"
  GROUP BY
    "order_id",
    "status"
  HAVING
    COUNT(*) > 1
) AS "violations";

SELECT
  "order_id",
  "status"
FROM "pg_temp"."idem_winners"
GROUP BY
  "order_id",
  "status"
HAVING
  COUNT(*) > 1
LIMIT 5;

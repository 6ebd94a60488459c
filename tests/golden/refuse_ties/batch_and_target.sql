-- Keys of which two rows of one version differ: in the batch, and between the batch and the table.
--
-- action: refuse_ties
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- upsert:
--   source: idem_winners
--   unique_key: [order_id]
--   version: [updated_at]
--   deduplicated: true

SELECT
  COUNT(*) OVER (),
  CAST("order_id" AS TEXT)
FROM (
  SELECT DISTINCT
    "w"."order_id"
  FROM (
    SELECT
      "order_id",
      "status",
      "updated_at"
    FROM "pg_temp"."idem_winners"
  ) AS "w"
  JOIN (
    SELECT
      "order_id",
      "status",
      "updated_at"
    FROM "pg_temp"."idem_staging"
  ) AS "s"
    ON "s"."order_id" = "w"."order_id"
  WHERE
    "w"."updated_at" IS NOT DISTINCT FROM "s"."updated_at"
    AND NOT (
      "w"."status" IS NOT DISTINCT FROM "s"."status"
    )
) AS "tied"
ORDER BY
  "order_id"
LIMIT 5;

SELECT
  COUNT(*) OVER (),
  CAST("order_id" AS TEXT)
FROM (
  SELECT DISTINCT
    "w"."order_id"
  FROM (
    SELECT
      "order_id",
      "status",
      "updated_at"
    FROM "pg_temp"."idem_winners"
  ) AS "w"
  JOIN "public"."orders" AS "t"
    ON "t"."order_id" = "w"."order_id"
  WHERE
    "w"."updated_at" IS NOT DISTINCT FROM "t"."updated_at"
    AND NOT (
      "w"."status" IS NOT DISTINCT FROM "t"."status"
    )
) AS "tied"
ORDER BY
  "order_id"
LIMIT 5;

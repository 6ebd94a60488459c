-- A column that the target lacks gets a place as text, and goes no further.
--
-- action: create_staging
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- ignored: [comment]

CREATE TEMPORARY TABLE "idem_staging"
ON COMMIT DROP AS
SELECT
  "order_id" AS "order_id",
  "status" AS "status",
  CAST(NULL AS TEXT) AS "comment"
FROM "public"."orders" WITH NO DATA;

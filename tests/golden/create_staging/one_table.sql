-- Columns are typed as the target, numbers with a scale wait with all their digits.
--
-- action: create_staging
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     status: text
--   unique_keys: [[order_id]]
-- staging: idem_staging

CREATE TEMPORARY TABLE "idem_staging"
ON COMMIT DROP AS
SELECT
  "order_id" AS "order_id",
  CAST("amount" AS DECIMAL) AS "amount",
  "status" AS "status"
FROM "public"."orders" WITH NO DATA;

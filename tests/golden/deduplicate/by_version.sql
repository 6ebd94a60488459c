-- Of several rows of a key the greatest version stays, of equal ones the greatest content.
--
-- action: deduplicate
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- winners: idem_winners
-- unique_key: [order_id]
-- version: [updated_at]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."updated_at"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."updated_at" DESC NULLS LAST,
  "s"."status" DESC;

-- The newer row of a two-column key wins; keys are compared column by column.
--
-- strategy: merge
-- shape:
--   columns:
--     order_id: bigint not null
--     line_no: integer not null
--     amount: integer
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id, line_no]]
-- unique_key: [order_id, line_no]
-- version: [updated_at]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id", "s"."line_no")
  "s"."order_id",
  "s"."line_no",
  "s"."amount",
  "s"."updated_at"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."line_no",
  "s"."updated_at" DESC NULLS LAST,
  "s"."amount" DESC;

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

CREATE TEMPORARY SEQUENCE idem_inserted MINVALUE 0 CACHE 10000;

CREATE TEMPORARY SEQUENCE idem_unchanged MINVALUE 0 CACHE 10000;

CREATE TEMPORARY SEQUENCE idem_stale MINVALUE 0 CACHE 10000;

SELECT
  NEXTVAL('pg_temp.idem_inserted'),
  NEXTVAL('pg_temp.idem_unchanged'),
  NEXTVAL('pg_temp.idem_stale');

MERGE INTO "public"."orders" AS "t"
USING (
  SELECT
    "order_id",
    "line_no",
    "amount",
    "updated_at"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."order_id" = "w"."order_id" AND "t"."line_no" = "w"."line_no"
WHEN MATCHED AND CASE
  WHEN "w"."updated_at" > "t"."updated_at"
  THEN TRUE
  WHEN "w"."updated_at" < "t"."updated_at"
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."updated_at" IS NULL AND NOT "t"."updated_at" IS NULL
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."amount" IS NOT DISTINCT FROM "t"."amount"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  WHEN RECORD_GT(ROW("w"."amount"), ROW("t"."amount"))
  THEN TRUE
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "amount" = "w"."amount",
  "updated_at" = "w"."updated_at"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "line_no", "amount", "updated_at") VALUES ("w"."order_id", "w"."line_no", "w"."amount", "w"."updated_at");

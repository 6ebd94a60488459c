-- Of the rows of one key the one with the smallest version stays; a smaller one that comes late replaces it.
--
-- strategy: insert_only
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     created_at: timestamp with time zone
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [created_at]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."created_at"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."created_at" ASC NULLS FIRST,
  "s"."status" ASC;

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
    "status",
    "created_at"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."order_id" = "w"."order_id"
WHEN MATCHED AND CASE
  WHEN "t"."created_at" > "w"."created_at"
  THEN TRUE
  WHEN "t"."created_at" < "w"."created_at"
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."created_at" IS NULL AND NOT "t"."created_at" IS NULL
  THEN TRUE
  WHEN "t"."created_at" IS NULL AND NOT "w"."created_at" IS NULL
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."status" IS NOT DISTINCT FROM "t"."status"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  WHEN RECORD_GT(ROW("t"."status"), ROW("w"."status"))
  THEN TRUE
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "status" = "w"."status",
  "created_at" = "w"."created_at"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "status", "created_at") VALUES ("w"."order_id", "w"."status", "w"."created_at");

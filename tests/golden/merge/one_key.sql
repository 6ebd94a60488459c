-- A new key is inserted, a newer version replaces its row, all else is counted and left alone.
--
-- strategy: merge
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]
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
    "updated_at"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."order_id" = "w"."order_id"
WHEN MATCHED AND CASE
  WHEN "w"."updated_at" > "t"."updated_at"
  THEN TRUE
  WHEN "w"."updated_at" < "t"."updated_at"
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."updated_at" IS NULL AND NOT "t"."updated_at" IS NULL
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."status" IS NOT DISTINCT FROM "t"."status"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  WHEN RECORD_GT(ROW("w"."status"), ROW("t"."status"))
  THEN TRUE
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "status" = "w"."status",
  "updated_at" = "w"."updated_at"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "status", "updated_at") VALUES ("w"."order_id", "w"."status", "w"."updated_at");

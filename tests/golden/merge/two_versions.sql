-- The second version column decides where the first is equal.
--
-- strategy: merge
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     day: date not null
--     number: integer not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [day, number]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."day",
  "s"."number"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."day" DESC NULLS LAST,
  "s"."number" DESC NULLS LAST,
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
    "day",
    "number"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."order_id" = "w"."order_id"
WHEN MATCHED AND CASE
  WHEN "w"."day" > "t"."day"
  THEN TRUE
  WHEN "w"."day" < "t"."day"
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."day" IS NULL AND NOT "t"."day" IS NULL
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."number" > "t"."number"
  THEN TRUE
  WHEN "w"."number" < "t"."number"
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."number" IS NULL AND NOT "t"."number" IS NULL
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."status" IS NOT DISTINCT FROM "t"."status"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  WHEN RECORD_GT(ROW("w"."status"), ROW("t"."status"))
  THEN TRUE
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "status" = "w"."status",
  "day" = "w"."day",
  "number" = "w"."number"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "status", "day", "number") VALUES ("w"."order_id", "w"."status", "w"."day", "w"."number");

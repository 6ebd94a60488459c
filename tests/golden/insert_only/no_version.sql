-- Without version a row that is there is never touched.
--
-- strategy: insert_only
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--   unique_keys: [[order_id]]
-- unique_key: [order_id]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
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
    "status"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."order_id" = "w"."order_id"
WHEN MATCHED AND CASE
  WHEN "w"."status" IS NOT DISTINCT FROM "t"."status"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "status" = "w"."status"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "status") VALUES ("w"."order_id", "w"."status");

-- A table of keys only: rows are inserted, and there is nothing to update.
--
-- strategy: merge
-- shape:
--   columns:
--     customer_id: bigint not null
--     segment: text not null
--   unique_keys: [[customer_id, segment]]
-- unique_key: [customer_id, segment]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."customer_id", "s"."segment")
  "s"."customer_id",
  "s"."segment"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."customer_id",
  "s"."segment";

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
    "customer_id",
    "segment"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."customer_id" = "w"."customer_id" AND "t"."segment" = "w"."segment"
WHEN MATCHED AND CASE WHEN TRUE THEN NEXTVAL('pg_temp.idem_unchanged') < 0 ELSE TRUE END THEN UPDATE SET
  "customer_id" = "w"."customer_id",
  "segment" = "w"."segment"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("customer_id", "segment") VALUES ("w"."customer_id", "w"."segment");

-- Content is compared by its bytes: json, arrays, case-insensitive or floating values as text.
--
-- strategy: merge
-- shape:
--   columns:
--     id: uuid not null
--     tags: "text[]"
--     document: jsonb
--     weight: double precision
--     wait: interval
--     flag: boolean
--   unique_keys: [[id]]
-- unique_key: [id]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."id")
  "s"."id",
  "s"."tags",
  "s"."document",
  "s"."weight",
  "s"."wait",
  "s"."flag"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."id",
  CAST("s"."tags" AS TEXT) COLLATE "C" DESC,
  CAST("s"."document" AS TEXT) COLLATE "C" DESC,
  CAST("s"."weight" AS TEXT) COLLATE "C" DESC,
  CAST("s"."wait" AS TEXT) COLLATE "C" DESC,
  "s"."flag" DESC;

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
    "id",
    "tags",
    "document",
    "weight",
    "wait",
    "flag"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."id" = "w"."id"
WHEN MATCHED AND CASE
  WHEN CAST("w"."tags" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."tags" AS TEXT) COLLATE "C"
  AND CAST("w"."document" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."document" AS TEXT) COLLATE "C"
  AND CAST("w"."weight" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."weight" AS TEXT) COLLATE "C"
  AND CAST("w"."wait" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."wait" AS TEXT) COLLATE "C"
  AND "w"."flag" IS NOT DISTINCT FROM "t"."flag"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  ELSE TRUE
END THEN UPDATE SET
  "tags" = "w"."tags",
  "document" = "w"."document",
  "weight" = "w"."weight",
  "wait" = "w"."wait",
  "flag" = "w"."flag"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("id", "tags", "document", "weight", "wait", "flag") VALUES ("w"."id", "w"."tags", "w"."document", "w"."weight", "w"."wait", "w"."flag");

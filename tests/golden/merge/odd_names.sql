-- Names with spaces, quotes, dots, percent signs, colons and capitals are quoted, never pasted.
--
-- strategy: merge
-- target: '"Sales 2025"."Order ""x""."'
-- shape:
--   columns:
--     "Order Id": bigint not null
--     '50 %s off': integer
--     'sel"ect': text
--     ':start': text
--     größe: text
--     'when': timestamp with time zone not null
--   unique_keys: [["Order Id"]]
-- unique_key: ["Order Id"]
-- version: [when]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."Order Id")
  "s"."Order Id",
  "s"."50 %s off",
  "s"."sel""ect",
  "s".":start",
  "s"."größe",
  "s"."when"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."Order Id",
  "s"."when" DESC NULLS LAST,
  "s"."50 %s off" DESC,
  "s"."sel""ect" DESC,
  "s".":start" DESC,
  "s"."größe" DESC;

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

MERGE INTO "Sales 2025"."Order ""x""." AS "t"
USING (
  SELECT
    "Order Id",
    "50 %s off",
    "sel""ect",
    ":start",
    "größe",
    "when"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."Order Id" = "w"."Order Id"
WHEN MATCHED AND CASE
  WHEN "w"."when" > "t"."when"
  THEN TRUE
  WHEN "w"."when" < "t"."when"
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."when" IS NULL AND NOT "t"."when" IS NULL
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."50 %s off" IS NOT DISTINCT FROM "t"."50 %s off"
  AND "w"."sel""ect" IS NOT DISTINCT FROM "t"."sel""ect"
  AND "w".":start" IS NOT DISTINCT FROM "t".":start"
  AND "w"."größe" IS NOT DISTINCT FROM "t"."größe"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  WHEN RECORD_GT(
    ROW("w"."50 %s off", "w"."sel""ect", "w".":start", "w"."größe"),
    ROW("t"."50 %s off", "t"."sel""ect", "t".":start", "t"."größe")
  )
  THEN TRUE
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "50 %s off" = "w"."50 %s off",
  "sel""ect" = "w"."sel""ect",
  ":start" = "w".":start",
  "größe" = "w"."größe",
  "when" = "w"."when"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("Order Id", "50 %s off", "sel""ect", ":start", "größe", "when") VALUES (
  "w"."Order Id",
  "w"."50 %s off",
  "w"."sel""ect",
  "w".":start",
  "w"."größe",
  "w"."when"
);

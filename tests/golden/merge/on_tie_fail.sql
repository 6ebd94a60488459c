-- An equal version with other content is left as it is, and found behind the write, which is undone then.
--
-- strategy: {kind: merge, on_tie: fail}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric
--     created_by: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [updated_at]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."amount",
  "s"."created_by",
  "s"."updated_at"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."updated_at" DESC NULLS LAST,
  "s"."status" DESC,
  CAST("s"."amount" AS TEXT) COLLATE "C" DESC,
  "s"."created_by" DESC;

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
    "amount",
    "created_by",
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
  AND CAST("w"."amount" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."amount" AS TEXT) COLLATE "C"
  AND "w"."created_by" IS NOT DISTINCT FROM "t"."created_by"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "status" = "w"."status",
  "amount" = "w"."amount",
  "created_by" = "w"."created_by",
  "updated_at" = "w"."updated_at"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "status", "amount", "created_by", "updated_at") VALUES ("w"."order_id", "w"."status", "w"."amount", "w"."created_by", "w"."updated_at");

SELECT
  COUNT(*) OVER (),
  CAST("order_id" AS TEXT)
FROM (
  SELECT DISTINCT
    "w"."order_id"
  FROM (
    SELECT
      "order_id",
      "status",
      "amount",
      "created_by",
      "updated_at"
    FROM "pg_temp"."idem_winners"
  ) AS "w"
  JOIN (
    SELECT
      "order_id",
      "status",
      "amount",
      "created_by",
      "updated_at"
    FROM "pg_temp"."idem_staging"
  ) AS "s"
    ON "s"."order_id" = "w"."order_id"
  WHERE
    "w"."updated_at" IS NOT DISTINCT FROM "s"."updated_at"
    AND NOT (
      "w"."status" IS NOT DISTINCT FROM "s"."status"
      AND CAST("w"."amount" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("s"."amount" AS TEXT) COLLATE "C"
      AND "w"."created_by" IS NOT DISTINCT FROM "s"."created_by"
    )
) AS "tied"
ORDER BY
  "order_id"
LIMIT 5;

SELECT
  COUNT(*) OVER (),
  CAST("order_id" AS TEXT)
FROM (
  SELECT DISTINCT
    "w"."order_id"
  FROM (
    SELECT
      "order_id",
      "status",
      "amount",
      "created_by",
      "updated_at"
    FROM "pg_temp"."idem_winners"
  ) AS "w"
  JOIN "public"."orders" AS "t"
    ON "t"."order_id" = "w"."order_id"
  WHERE
    "w"."updated_at" IS NOT DISTINCT FROM "t"."updated_at"
    AND NOT (
      "w"."status" IS NOT DISTINCT FROM "t"."status"
      AND CAST("w"."amount" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."amount" AS TEXT) COLLATE "C"
      AND "w"."created_by" IS NOT DISTINCT FROM "t"."created_by"
    )
) AS "tied"
ORDER BY
  "order_id"
LIMIT 5;

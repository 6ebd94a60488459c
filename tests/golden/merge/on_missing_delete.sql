-- The batch has all keys of its partition: rows of other keys are deleted.
--
-- strategy: {kind: merge, on_missing: delete}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     order_date: date
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [updated_at]
-- partition_column: order_date

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."order_date",
  "s"."updated_at"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."updated_at" DESC NULLS LAST,
  "s"."status" DESC,
  "s"."order_date" DESC;

-- binds: start = 2025-05-01, end = 2025-05-02
SELECT
  EXISTS(
    SELECT
      1
    FROM "public"."orders" AS "t"
    WHERE
      "t"."order_date" >= %(start)s
      AND "t"."order_date" < %(end)s
      AND NOT EXISTS(
        SELECT
          1
        FROM "pg_temp"."idem_winners" AS "s"
        WHERE
          "s"."order_id" = "t"."order_id"
      )
  );

-- binds: start = 2025-05-01, end = 2025-05-02
DELETE FROM "public"."orders" AS "t"
WHERE
  "t"."order_date" >= %(start)s
  AND "t"."order_date" < %(end)s
  AND NOT EXISTS(
    SELECT
      1
    FROM "pg_temp"."idem_winners" AS "s"
    WHERE
      "s"."order_id" = "t"."order_id"
  );

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
    "order_date",
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
  AND "w"."order_date" IS NOT DISTINCT FROM "t"."order_date"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  WHEN RECORD_GT(ROW("w"."status", "w"."order_date"), ROW("t"."status", "t"."order_date"))
  THEN TRUE
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "status" = "w"."status",
  "order_date" = "w"."order_date",
  "updated_at" = "w"."updated_at"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "status", "order_date", "updated_at") VALUES ("w"."order_id", "w"."status", "w"."order_date", "w"."updated_at");

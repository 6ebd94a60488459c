-- A row that is there takes two columns and the version from the batch, a new one takes all.
--
-- strategy: {kind: merge, merge_update_columns: [status, amount]}
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
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  WHEN RECORD_GT(
    ROW("w"."status", CAST("w"."amount" AS TEXT) COLLATE "C"),
    ROW("t"."status", CAST("t"."amount" AS TEXT) COLLATE "C")
  )
  THEN TRUE
  ELSE NEXTVAL('pg_temp.idem_stale') < 0
END THEN UPDATE SET
  "status" = "w"."status",
  "amount" = "w"."amount",
  "updated_at" = "w"."updated_at"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "status", "amount", "created_by", "updated_at") VALUES ("w"."order_id", "w"."status", "w"."amount", "w"."created_by", "w"."updated_at");

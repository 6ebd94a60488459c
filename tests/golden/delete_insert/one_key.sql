-- A row of the key is replaced whole: the column that the batch lacks gets its default.
--
-- strategy: delete_insert
-- shape:
--   columns:
--     order_id: bigint not null
--     line_no: integer not null
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone
--     note: text
--   unique_keys: [[order_id, line_no]]
-- columns: [order_id, line_no, amount, updated_at]
-- unique_key: [order_id, line_no]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id", "s"."line_no")
  "s"."order_id",
  "s"."line_no",
  "s"."amount",
  "s"."updated_at"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."line_no",
  "s"."amount" DESC,
  "s"."updated_at" DESC;

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

CREATE TEMPORARY TABLE "idem_difference"
ON COMMIT DROP AS
SELECT
  CASE
    WHEN "t"."idem_old" IS NULL
    THEN 'inserted'
    WHEN "w"."idem_new" IS NULL
    THEN 'deleted'
    ELSE 'updated'
  END AS "effect",
  "w"."idem_new",
  "t"."idem_old",
  "t"."idem_child",
  "t"."idem_writer",
  COALESCE("w"."order_id", "t"."order_id") AS "idem_key_0",
  COALESCE("w"."line_no", "t"."line_no") AS "idem_key_1",
  "w"."order_id" AS "idem_value_0",
  "w"."line_no" AS "idem_value_1",
  "w"."amount" AS "idem_value_2",
  "w"."updated_at" AS "idem_value_3"
FROM (
  SELECT
    "s"."order_id",
    "s"."line_no",
    "s"."amount",
    "s"."updated_at",
    "s"."ctid" AS "idem_new"
  FROM "pg_temp"."idem_winners" AS "s"
) AS "w"
LEFT JOIN (
  SELECT
    "s"."order_id",
    "s"."line_no",
    "s"."amount",
    "s"."updated_at",
    "s"."ctid" AS "idem_old",
    "s"."tableoid" AS "idem_child",
    "s"."xmin" AS "idem_writer"
  FROM "public"."orders" AS "s"
) AS "t"
  ON "w"."order_id" = "t"."order_id" AND "w"."line_no" = "t"."line_no"
WHERE
  "t"."idem_old" IS NULL
  OR "w"."idem_new" IS NULL
  OR (
    NOT "w"."idem_new" IS NULL
    AND NOT (
      "w"."amount" IS NOT DISTINCT FROM "t"."amount"
      AND "w"."updated_at" IS NOT DISTINCT FROM "t"."updated_at"
    )
  )
ORDER BY
  "t"."idem_old",
  "w"."idem_new";

-- binds: name = enable_hashjoin, value = on
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = on
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_nestloop, value = on
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = on
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

SELECT
  "d"."effect",
  COUNT(*),
  COUNT(*) FILTER(WHERE
    "d"."idem_new" IS NULL)
FROM "pg_temp"."idem_difference" AS "d"
GROUP BY
  "d"."effect";

DELETE FROM "public"."orders" AS "t" USING   "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'deleted'
  AND "t"."ctid" = "d"."idem_old"
  AND "t"."tableoid" = "d"."idem_child"
  AND "t"."xmin" = "d"."idem_writer";

UPDATE "public"."orders" AS "t" SET "amount" = "d"."idem_value_2", "updated_at" = "d"."idem_value_3", "note" = DEFAULT
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'updated'
  AND "t"."ctid" = "d"."idem_old"
  AND "t"."tableoid" = "d"."idem_child"
  AND "t"."xmin" = "d"."idem_writer";

INSERT INTO "public"."orders" (
  "order_id",
  "line_no",
  "amount",
  "updated_at"
)
SELECT
  "d"."idem_value_0",
  "d"."idem_value_1",
  "d"."idem_value_2",
  "d"."idem_value_3"
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'inserted'
ORDER BY
  "d"."idem_value_0",
  "d"."idem_value_1";

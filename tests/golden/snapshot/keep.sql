-- Rows that the snapshot lacks stay as they are.
--
-- strategy: {kind: snapshot, on_missing: keep}
-- shape:
--   columns:
--     order_id: bigint not null
--     order_date: date
--     status: text
--   unique_keys: [[order_id]]
-- unique_key: [order_id]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."order_date",
  "s"."status"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."order_date" DESC,
  "s"."status" DESC;

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_nestloop, value = off
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
  "w"."order_id" AS "idem_value_0",
  "w"."order_date" AS "idem_value_1",
  "w"."status" AS "idem_value_2"
FROM (
  SELECT
    "s"."order_id",
    "s"."order_date",
    "s"."status",
    "s"."ctid" AS "idem_new"
  FROM "pg_temp"."idem_winners" AS "s"
) AS "w"
LEFT JOIN (
  SELECT
    "s"."order_id",
    "s"."order_date",
    "s"."status",
    "s"."ctid" AS "idem_old",
    "s"."tableoid" AS "idem_child",
    "s"."xmin" AS "idem_writer"
  FROM "public"."orders" AS "s"
) AS "t"
  ON "w"."order_id" = "t"."order_id"
WHERE
  "t"."idem_old" IS NULL
  OR "w"."idem_new" IS NULL
  OR (
    NOT "w"."idem_new" IS NULL
    AND NOT (
      "w"."order_date" IS NOT DISTINCT FROM "t"."order_date"
      AND "w"."status" IS NOT DISTINCT FROM "t"."status"
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

UPDATE "public"."orders" AS "t" SET "order_date" = "d"."idem_value_1", "status" = "d"."idem_value_2"
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'updated'
  AND "t"."ctid" = "d"."idem_old"
  AND "t"."tableoid" = "d"."idem_child"
  AND "t"."xmin" = "d"."idem_writer";

INSERT INTO "public"."orders" (
  "order_id",
  "order_date",
  "status"
)
SELECT
  "d"."idem_value_0",
  "d"."idem_value_1",
  "d"."idem_value_2"
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'inserted'
ORDER BY
  "d"."idem_value_0";

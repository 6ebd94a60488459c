-- An older batch, without a version, adds the orders that are missing.
--
-- action: replace_rows
-- shape:
--   columns:
--     order_id: bigint not null
--     line_no: integer not null
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone
--     note: text
-- source: idem_staging
-- keys: [order_id]
-- superseded: true

ANALYZE "pg_temp"."idem_staging";

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
  "w"."order_id" AS "idem_value_0",
  "w"."line_no" AS "idem_value_1",
  "w"."amount" AS "idem_value_2",
  "w"."updated_at" AS "idem_value_3",
  "w"."note" AS "idem_value_4"
FROM (
  SELECT
    "s"."order_id",
    "s"."line_no",
    "s"."amount",
    "s"."updated_at",
    "s"."note",
    "s"."ctid" AS "idem_new",
    HASH_RECORD_EXTENDED(ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note"), 0) AS "idem_hash",
    ROW_NUMBER() OVER (
      PARTITION BY HASH_RECORD_EXTENDED(ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note"), 0), "s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note"
    ) AS "idem_nth"
  FROM "pg_temp"."idem_staging" AS "s"
) AS "w"
FULL JOIN (
  SELECT
    "s"."order_id",
    "s"."line_no",
    "s"."amount",
    "s"."updated_at",
    "s"."note",
    "s"."ctid" AS "idem_old",
    "s"."tableoid" AS "idem_child",
    "s"."xmin" AS "idem_writer",
    HASH_RECORD_EXTENDED(ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note"), 0) AS "idem_hash",
    ROW_NUMBER() OVER (
      PARTITION BY HASH_RECORD_EXTENDED(ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note"), 0), "s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note"
    ) AS "idem_nth"
  FROM "public"."orders" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."order_id"
      FROM "pg_temp"."idem_staging" AS "k"
    )
) AS "t"
  ON "w"."idem_hash" = "t"."idem_hash"
  AND "w"."idem_nth" = "t"."idem_nth"
  AND (
    "w"."order_id" IS NOT DISTINCT FROM "t"."order_id"
    AND "w"."line_no" IS NOT DISTINCT FROM "t"."line_no"
    AND "w"."amount" IS NOT DISTINCT FROM "t"."amount"
    AND "w"."updated_at" IS NOT DISTINCT FROM "t"."updated_at"
    AND "w"."note" IS NOT DISTINCT FROM "t"."note"
  )
WHERE
  "t"."idem_old" IS NULL OR "w"."idem_new" IS NULL
ORDER BY
  "t"."idem_old",
  "w"."idem_new";

CREATE TEMPORARY TABLE "idem_groups"
ON COMMIT DROP AS
SELECT
  "g"."idem_key_0",
  CASE WHEN "t"."order_id" IS NULL THEN TRUE ELSE FALSE END AS "wins"
FROM (
  SELECT DISTINCT
    "g"."idem_key_0"
  FROM "pg_temp"."idem_difference" AS "g"
) AS "g"
JOIN (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id"
  FROM "pg_temp"."idem_staging" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."idem_key_0"
      FROM "pg_temp"."idem_difference" AS "k"
    )
  ORDER BY
    "s"."order_id"
) AS "w"
  ON "w"."order_id" = "g"."idem_key_0"
LEFT JOIN (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id"
  FROM "public"."orders" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."idem_key_0"
      FROM "pg_temp"."idem_difference" AS "k"
    )
  ORDER BY
    "s"."order_id"
) AS "t"
  ON "t"."order_id" = "g"."idem_key_0";

UPDATE "pg_temp"."idem_difference" AS "d" SET "effect" = 'stale'
FROM "pg_temp"."idem_groups" AS "g"
WHERE
  "d"."idem_key_0" = "g"."idem_key_0"
  AND NOT "g"."wins"
  AND NOT "d"."idem_new" IS NULL;

DELETE FROM "pg_temp"."idem_difference" AS "d" USING   "pg_temp"."idem_groups" AS "g"
WHERE
  "d"."idem_key_0" = "g"."idem_key_0" AND NOT "g"."wins" AND "d"."idem_new" IS NULL;

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

INSERT INTO "public"."orders" (
  "order_id",
  "line_no",
  "amount",
  "updated_at",
  "note"
)
SELECT
  "d"."idem_value_0",
  "d"."idem_value_1",
  "d"."idem_value_2",
  "d"."idem_value_3",
  "d"."idem_value_4"
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'inserted'
ORDER BY
  "d"."idem_new";

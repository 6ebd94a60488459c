-- The lines of an order come and go together, those of its greatest version win.
--
-- strategy: {kind: delete_insert, merge_key: order_id}
-- shape:
--   columns:
--     order_id: bigint not null
--     line_no: integer not null
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone
--     note: text
--   unique_keys: [[order_id, line_no]]
-- unique_key: [order_id, line_no]
-- version: [updated_at]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id", "s"."line_no")
  "s"."order_id",
  "s"."line_no",
  "s"."amount",
  "s"."updated_at",
  "s"."note"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."line_no",
  "s"."updated_at" DESC NULLS LAST,
  "s"."amount" DESC,
  "s"."note" DESC;

ANALYZE "pg_temp"."idem_winners";

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
    "s"."ctid" AS "idem_new"
  FROM "pg_temp"."idem_winners" AS "s"
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
    "s"."xmin" AS "idem_writer"
  FROM "public"."orders" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."order_id"
      FROM "pg_temp"."idem_winners" AS "k"
    )
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
      AND "w"."note" IS NOT DISTINCT FROM "t"."note"
    )
  )
ORDER BY
  "t"."idem_old",
  "w"."idem_new";

CREATE TEMPORARY TABLE "idem_groups"
ON COMMIT DROP AS
SELECT
  "g"."idem_key_0",
  CASE
    WHEN "t"."order_id" IS NULL
    THEN TRUE
    WHEN "w"."updated_at" > "t"."updated_at"
    THEN TRUE
    WHEN "w"."updated_at" < "t"."updated_at"
    THEN FALSE
    WHEN "t"."updated_at" IS NULL AND NOT "w"."updated_at" IS NULL
    THEN TRUE
    WHEN "w"."updated_at" IS NULL AND NOT "t"."updated_at" IS NULL
    THEN FALSE
    ELSE NULL
  END AS "wins"
FROM (
  SELECT DISTINCT
    "g"."idem_key_0"
  FROM "pg_temp"."idem_difference" AS "g"
) AS "g"
JOIN (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id",
    "s"."updated_at"
  FROM "pg_temp"."idem_winners" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."idem_key_0"
      FROM "pg_temp"."idem_difference" AS "k"
    )
  ORDER BY
    "s"."order_id",
    "s"."updated_at" DESC NULLS LAST
) AS "w"
  ON "w"."order_id" = "g"."idem_key_0"
LEFT JOIN (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id",
    "s"."updated_at"
  FROM "public"."orders" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."idem_key_0"
      FROM "pg_temp"."idem_difference" AS "k"
    )
  ORDER BY
    "s"."order_id",
    "s"."updated_at" DESC NULLS LAST
) AS "t"
  ON "t"."order_id" = "g"."idem_key_0";

UPDATE "pg_temp"."idem_groups" AS "g" SET "wins" = "w"."content" > "t"."content"
FROM (
  SELECT
    "s"."order_id",
    ARRAY_AGG(
      ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note") ORDER BY ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note")
    ) AS "content"
  FROM "pg_temp"."idem_winners" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."idem_key_0"
      FROM "pg_temp"."idem_groups" AS "k"
      WHERE
        "k"."wins" IS NULL
    )
  GROUP BY
    "s"."order_id"
) AS "w"
JOIN (
  SELECT
    "s"."order_id",
    ARRAY_AGG(
      ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note") ORDER BY ROW("s"."order_id", "s"."line_no", "s"."amount", "s"."updated_at", "s"."note")
    ) AS "content"
  FROM "public"."orders" AS "s"
  WHERE
    ("s"."order_id") IN (
      SELECT
        "k"."idem_key_0"
      FROM "pg_temp"."idem_groups" AS "k"
      WHERE
        "k"."wins" IS NULL
    )
  GROUP BY
    "s"."order_id"
) AS "t"
  ON "w"."order_id" = "t"."order_id"
WHERE
  "w"."order_id" = "g"."idem_key_0" AND "g"."wins" IS NULL;

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

UPDATE "public"."orders" AS "t" SET "amount" = "d"."idem_value_2", "updated_at" = "d"."idem_value_3", "note" = "d"."idem_value_4"
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
  "d"."idem_value_0",
  "d"."idem_value_1";

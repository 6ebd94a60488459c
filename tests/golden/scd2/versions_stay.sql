-- One row per version: new ones are inserted, and of rows of the same keys the intervals that changed are written.
--
-- strategy: {kind: scd2}
-- shape:
--   columns:
--     customer_id: bigint not null
--     tier: text
--     changed_at: timestamp with time zone not null
--     valid_from: timestamp with time zone
--     valid_to: timestamp with time zone
--   unique_keys: [[customer_id, changed_at]]
-- unique_key: [customer_id]
-- version: [changed_at]

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."customer_id", "s"."changed_at")
  "s"."customer_id",
  "s"."tier",
  "s"."changed_at"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."customer_id",
  "s"."changed_at",
  "s"."tier" DESC;

ANALYZE "pg_temp"."idem_winners";

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

CREATE TEMPORARY TABLE "idem_difference"
ON COMMIT DROP AS
SELECT
  "r"."effect",
  "r"."idem_new",
  "r"."idem_old",
  "r"."idem_child",
  "r"."idem_writer",
  "r"."idem_since",
  "r"."idem_until",
  NOT "r"."idem_old" IS NULL
  AND (
    "r"."valid_from" IS DISTINCT FROM "r"."idem_since"
    OR "r"."valid_to" IS DISTINCT FROM "r"."idem_until"
  ) AS "idem_moved"
FROM (
  SELECT
    CASE
      WHEN "t"."idem_old" IS NULL
      THEN 'inserted'
      WHEN "w"."idem_new" IS NULL
      THEN NULL
      WHEN "w"."tier" IS NOT DISTINCT FROM "t"."tier"
      THEN 'unchanged'
      WHEN RECORD_GT(ROW("w"."tier"), ROW("t"."tier"))
      THEN 'updated'
      ELSE 'stale'
    END AS "effect",
    "w"."idem_new",
    "t"."idem_old",
    "t"."idem_child",
    "t"."idem_writer",
    COALESCE("w"."changed_at", "t"."changed_at") AS "idem_since",
    LEAD(COALESCE("w"."changed_at", "t"."changed_at")) OVER (
      PARTITION BY COALESCE("w"."customer_id", "t"."customer_id")
      ORDER BY COALESCE("w"."changed_at", "t"."changed_at")
    ) AS "idem_until",
    "t"."valid_from",
    "t"."valid_to"
  FROM (
    SELECT
      "s"."customer_id",
      "s"."tier",
      "s"."changed_at",
      "s"."ctid" AS "idem_new"
    FROM "pg_temp"."idem_winners" AS "s"
  ) AS "w"
  FULL JOIN (
    SELECT
      "s"."customer_id",
      "s"."tier",
      "s"."changed_at",
      "s"."valid_from",
      "s"."valid_to",
      "s"."ctid" AS "idem_old",
      "s"."tableoid" AS "idem_child",
      "s"."xmin" AS "idem_writer"
    FROM "public"."orders" AS "s"
    WHERE
      ("s"."customer_id") IN (
        SELECT
          "k"."customer_id"
        FROM "pg_temp"."idem_winners" AS "k"
      )
  ) AS "t"
    ON "w"."customer_id" = "t"."customer_id" AND "w"."changed_at" = "t"."changed_at"
) AS "r"
WHERE
  "r"."effect" IN ('inserted', 'updated', 'stale')
  OR (
    NOT "r"."idem_old" IS NULL
    AND (
      "r"."valid_from" IS DISTINCT FROM "r"."idem_since"
      OR "r"."valid_to" IS DISTINCT FROM "r"."idem_until"
    )
  )
ORDER BY
  "r"."idem_old",
  "r"."idem_new";

-- binds: name = enable_hashjoin, value = on
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

SELECT
  CASE WHEN "d"."idem_old" IS NULL THEN 'inserted' ELSE 'updated' END,
  COUNT(*),
  COUNT(*) FILTER(WHERE
    "d"."idem_new" IS NULL OR "d"."effect" = 'stale')
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."idem_old" IS NULL OR (
    "d"."effect" = 'updated' OR "d"."idem_moved"
  )
GROUP BY
  1
UNION ALL
SELECT
  'stale',
  COUNT(*),
  0
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'stale';

UPDATE "public"."orders" AS "t" SET "tier" = CASE WHEN "d"."effect" = 'updated' THEN "w"."tier" ELSE "t"."tier" END, "valid_from" = "d"."idem_since", "valid_to" = "d"."idem_until"
FROM "pg_temp"."idem_difference" AS "d"
  LEFT JOIN "pg_temp"."idem_winners" AS "w"
    ON "w"."ctid" = "d"."idem_new"
WHERE
  (
    "d"."effect" = 'updated' OR "d"."idem_moved"
  )
  AND "t"."ctid" = "d"."idem_old"
  AND "t"."tableoid" = "d"."idem_child"
  AND "t"."xmin" = "d"."idem_writer";

INSERT INTO "public"."orders" (
  "customer_id",
  "tier",
  "changed_at",
  "valid_from",
  "valid_to"
)
SELECT
  "w"."customer_id",
  "w"."tier",
  "w"."changed_at",
  "d"."idem_since",
  "d"."idem_until"
FROM "pg_temp"."idem_difference" AS "d"
  JOIN "pg_temp"."idem_winners" AS "w"
    ON "w"."ctid" = "d"."idem_new"
WHERE
  "d"."effect" = 'inserted'
ORDER BY
  "d"."idem_new";

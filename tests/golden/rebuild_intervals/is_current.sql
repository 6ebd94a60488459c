-- A third column of ours says which row of a key is the newest.
--
-- action: rebuild_intervals
-- shape:
--   columns:
--     customer_id: bigint not null
--     tier: text
--     changed_on: date
--     valid_from: date
--     valid_to: date
--     newest: boolean
-- columns: [customer_id, tier, changed_on]
-- source: idem_winners
-- unique_key: [customer_id]
-- version: changed_on
-- valid_from: valid_from
-- valid_to: valid_to
-- is_current: newest

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
    OR "r"."newest" IS DISTINCT FROM (
      "r"."idem_until" IS NULL
    )
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
    COALESCE("w"."changed_on", "t"."changed_on") AS "idem_since",
    LEAD(COALESCE("w"."changed_on", "t"."changed_on")) OVER (
      PARTITION BY COALESCE("w"."customer_id", "t"."customer_id")
      ORDER BY COALESCE("w"."changed_on", "t"."changed_on")
    ) AS "idem_until",
    "t"."valid_from",
    "t"."valid_to",
    "t"."newest"
  FROM (
    SELECT
      "s"."customer_id",
      "s"."tier",
      "s"."changed_on",
      "s"."ctid" AS "idem_new"
    FROM "pg_temp"."idem_winners" AS "s"
  ) AS "w"
  FULL JOIN (
    SELECT
      "s"."customer_id",
      "s"."tier",
      "s"."changed_on",
      "s"."valid_from",
      "s"."valid_to",
      "s"."newest",
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
      AND NOT "s"."changed_on" IS NULL
  ) AS "t"
    ON "w"."customer_id" = "t"."customer_id" AND "w"."changed_on" = "t"."changed_on"
) AS "r"
WHERE
  "r"."effect" IN ('inserted', 'updated', 'stale')
  OR (
    NOT "r"."idem_old" IS NULL
    AND (
      "r"."valid_from" IS DISTINCT FROM "r"."idem_since"
      OR "r"."valid_to" IS DISTINCT FROM "r"."idem_until"
      OR "r"."newest" IS DISTINCT FROM (
        "r"."idem_until" IS NULL
      )
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

UPDATE "public"."orders" AS "t" SET "tier" = CASE WHEN "d"."effect" = 'updated' THEN "w"."tier" ELSE "t"."tier" END, "valid_from" = "d"."idem_since", "valid_to" = "d"."idem_until", "newest" = "d"."idem_until" IS NULL
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
  "changed_on",
  "valid_from",
  "valid_to",
  "newest"
)
SELECT
  "w"."customer_id",
  "w"."tier",
  "w"."changed_on",
  "d"."idem_since",
  "d"."idem_until",
  "d"."idem_until" IS NULL
FROM "pg_temp"."idem_difference" AS "d"
  JOIN "pg_temp"."idem_winners" AS "w"
    ON "w"."ctid" = "d"."idem_new"
WHERE
  "d"."effect" = 'inserted'
ORDER BY
  "d"."idem_new";

-- Inserts, updates and deletes in any order: the greatest version of a key wins.
--
-- strategy: cdc
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]

CREATE TABLE "airflow_idempotent"."tombstones_f6694c59be4ed386" AS
SELECT
  "order_id",
  "lsn",
  CAST(NULL AS TIMESTAMPTZ) AS "idem_deleted_at"
FROM "public"."orders" WITH NO DATA;

ALTER TABLE "airflow_idempotent"."tombstones_f6694c59be4ed386"
ADD PRIMARY KEY ("order_id");

ALTER TABLE "airflow_idempotent"."tombstones_f6694c59be4ed386"
ALTER COLUMN "idem_deleted_at" SET DEFAULT CURRENT_TIMESTAMP;

COMMENT ON TABLE "airflow_idempotent"."tombstones_f6694c59be4ed386" IS 'Tombstones of public.orders: keys deleted by its change stream. See docs/how-to/cdc.md.';

SELECT
  CAST("op" AS TEXT),
  COUNT(*)
FROM "pg_temp"."idem_staging"
WHERE
  CAST("op" AS TEXT) IS NULL
  OR NOT CAST("op" AS TEXT) IN ('I', 'c', 'r', 'U', 'u', 'D', 'd')
GROUP BY
  CAST("op" AS TEXT)
ORDER BY
  2 DESC NULLS LAST,
  CAST("op" AS TEXT);

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."lsn",
  "s"."idem_is_delete"
FROM (
  SELECT
    "s"."order_id",
    "s"."status",
    "s"."lsn",
    CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete"
  FROM "pg_temp"."idem_staging" AS "s"
) AS "s"
ORDER BY
  "s"."order_id",
  "s"."lsn" DESC NULLS LAST,
  "s"."idem_is_delete",
  "s"."status" DESC;

CREATE TEMPORARY VIEW "idem_winners_rows" AS
SELECT
  "order_id",
  "status",
  "lsn"
FROM "pg_temp"."idem_winners"
WHERE
  NOT "idem_is_delete";

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

CREATE TEMPORARY TABLE "idem_winners_differing"
ON COMMIT DROP AS
SELECT
  *,
  CASE
    WHEN "idem_is_delete" AND "idem_found" AND "idem_order" = 1
    THEN 'deleted'
    WHEN "idem_is_delete" AND (
      "idem_found" OR "idem_tomb" = -1
    )
    THEN 'stale'
    WHEN "idem_is_delete" AND "idem_tomb" = 0
    THEN 'unchanged'
    WHEN "idem_is_delete"
    THEN 'buried'
    WHEN "idem_tomb" = -1
    THEN 'stale'
    WHEN NOT "idem_found"
    THEN 'inserted'
    WHEN "idem_order" = 1
    THEN 'updated'
    WHEN "idem_order" = 0
    THEN 'unchanged'
    ELSE 'stale'
  END AS "idem_verdict"
FROM (
  SELECT
    "w".*,
    "t"."ctid" AS "idem_place",
    NOT "t"."order_id" IS NULL AS "idem_found",
    NOT "d"."order_id" IS NULL AS "idem_buried",
    CASE
      WHEN NOT "t"."order_id" IS NULL
      THEN CASE
        WHEN "w"."lsn" > "t"."lsn"
        THEN 1
        WHEN "w"."lsn" < "t"."lsn"
        THEN -1
        WHEN "t"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN 1
        WHEN "w"."lsn" IS NULL AND NOT "t"."lsn" IS NULL
        THEN -1
        ELSE CASE
          WHEN "w"."idem_is_delete"
          THEN -1
          ELSE CASE
            WHEN "w"."status" IS NOT DISTINCT FROM "t"."status"
            THEN 0
            WHEN RECORD_GT(ROW("w"."status"), ROW("t"."status"))
            THEN 1
            ELSE -1
          END
        END
      END
    END AS "idem_order",
    CASE
      WHEN NOT "d"."order_id" IS NULL
      THEN CASE
        WHEN "w"."lsn" > "d"."lsn"
        THEN 1
        WHEN "w"."lsn" < "d"."lsn"
        THEN -1
        WHEN "d"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN 1
        WHEN "w"."lsn" IS NULL AND NOT "d"."lsn" IS NULL
        THEN -1
        ELSE 0
      END
    END AS "idem_tomb"
  FROM "pg_temp"."idem_winners" AS "w"
  LEFT JOIN "public"."orders" AS "t"
    ON "t"."order_id" = "w"."order_id"
  LEFT JOIN "airflow_idempotent"."tombstones_f6694c59be4ed386" AS "d"
    ON "d"."order_id" = "w"."order_id"
) AS "compared";

SELECT
  "idem_verdict",
  COUNT(*),
  0
FROM "pg_temp"."idem_winners_differing"
GROUP BY
  "idem_verdict";

DELETE FROM "public"."orders" AS "t" USING   "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('deleted')
  AND "t"."ctid" = "c"."idem_place"
  AND "t"."order_id" = "c"."order_id";

UPDATE "public"."orders" AS "t" SET "status" = "c"."status", "lsn" = "c"."lsn"
FROM "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('updated')
  AND "t"."ctid" = "c"."idem_place"
  AND "t"."order_id" = "c"."order_id";

INSERT INTO "public"."orders" (
  "order_id",
  "status",
  "lsn"
)
SELECT
  "order_id",
  "status",
  "lsn"
FROM "pg_temp"."idem_winners_differing"
WHERE
  "idem_verdict" IN ('inserted');

INSERT INTO "airflow_idempotent"."tombstones_f6694c59be4ed386" (
  "order_id",
  "lsn"
)
SELECT
  "w"."order_id",
  "w"."lsn"
FROM "pg_temp"."idem_winners_differing" AS "w"
WHERE
  "w"."idem_is_delete"
  AND (
    NOT "w"."idem_buried" OR "w"."idem_tomb" = 1
  )
  AND "w"."idem_verdict" IN ('deleted', 'buried') ON CONFLICT("order_id") DO UPDATE SET "lsn" = "excluded"."lsn", "idem_deleted_at" = CURRENT_TIMESTAMP;

DELETE FROM "airflow_idempotent"."tombstones_f6694c59be4ed386" AS "d" USING   "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('inserted', 'updated')
  AND "c"."idem_buried"
  AND "d"."order_id" = "c"."order_id";

-- Where keys change, what differs is found first, then written by its place.
--
-- action: apply_changes
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]
-- events: {key_before: {order_id: old_order_id}}
-- winners: idem_winners
-- differing: idem_differing

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

CREATE TEMPORARY TABLE "idem_differing"
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
  LEFT JOIN "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS "d"
    ON "d"."order_id" = "w"."order_id"
) AS "compared";

SELECT
  "idem_verdict",
  COUNT(*),
  COUNT(*) FILTER(WHERE
    "idem_beyond")
FROM "pg_temp"."idem_differing"
GROUP BY
  "idem_verdict";

DELETE FROM "public"."orders" AS "t" USING   "pg_temp"."idem_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('deleted')
  AND "t"."ctid" = "c"."idem_place"
  AND "t"."order_id" = "c"."order_id";

UPDATE "public"."orders" AS "t" SET "status" = "c"."status", "lsn" = "c"."lsn"
FROM "pg_temp"."idem_differing" AS "c"
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
FROM "pg_temp"."idem_differing"
WHERE
  "idem_verdict" IN ('inserted');

INSERT INTO "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" (
  "order_id",
  "lsn"
)
SELECT
  "w"."order_id",
  "w"."lsn"
FROM "pg_temp"."idem_differing" AS "w"
WHERE
  "w"."idem_is_delete"
  AND (
    NOT "w"."idem_buried" OR "w"."idem_tomb" = 1
  )
  AND "w"."idem_verdict" IN ('deleted', 'buried') ON CONFLICT("order_id") DO UPDATE SET "lsn" = "excluded"."lsn", "idem_deleted_at" = CURRENT_TIMESTAMP;

DELETE FROM "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS "d" USING   "pg_temp"."idem_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('inserted', 'updated')
  AND "c"."idem_buried"
  AND "d"."order_id" = "c"."order_id";

-- Rows that are deleted stay, and say so.
--
-- strategy: {kind: cdc, delete: soft}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint not null
--     _idem_deleted: boolean not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]

CREATE TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS
SELECT
  "order_id",
  "lsn",
  CAST(NULL AS TIMESTAMPTZ) AS "idem_deleted_at"
FROM "public"."orders" WITH NO DATA;

ALTER TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38"
ADD PRIMARY KEY ("order_id");

ALTER TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38"
ALTER COLUMN "idem_deleted_at" SET DEFAULT CURRENT_TIMESTAMP;

COMMENT ON TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" IS 'Tombstones of public.orders: keys deleted by its change stream. See docs/how-to/cdc.md.';

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
SELECT
  COALESCE("r"."order_id", "x"."order_id") AS "order_id",
  "r"."status",
  "r"."lsn",
  "x"."lsn" AS "idem_deleted_0",
  NOT "r"."order_id" IS NULL AS "idem_has_row",
  NOT "x"."order_id" IS NULL AS "idem_is_delete"
FROM (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id",
    "s"."status",
    "s"."lsn"
  FROM (
    SELECT
      "s"."order_id",
      "s"."status",
      "s"."lsn",
      CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete"
    FROM "pg_temp"."idem_staging" AS "s"
  ) AS "s"
  WHERE
    NOT "s"."idem_is_delete"
  ORDER BY
    "s"."order_id",
    "s"."lsn" DESC NULLS LAST,
    "s"."status" DESC
) AS "r"
FULL JOIN (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id",
    "s"."lsn"
  FROM (
    SELECT
      "s"."order_id",
      "s"."status",
      "s"."lsn",
      CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete"
    FROM "pg_temp"."idem_staging" AS "s"
  ) AS "s"
  WHERE
    "s"."idem_is_delete"
  ORDER BY
    "s"."order_id",
    "s"."lsn" DESC NULLS LAST,
    "s"."status" DESC
) AS "x"
  ON "r"."order_id" = "x"."order_id";

CREATE TEMPORARY VIEW "idem_winners_rows" AS
SELECT
  "order_id",
  "status",
  "lsn"
FROM "pg_temp"."idem_winners"
WHERE
  "idem_has_row";

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
    WHEN NOT "idem_found" AND "idem_has_row"
    THEN 'inserted'
    WHEN "idem_found" AND "idem_gone" AND NOT "idem_was_gone"
    THEN 'deleted'
    WHEN "idem_found" AND (
      "idem_order" = 1 OR "idem_gone" <> "idem_was_gone"
    )
    THEN 'updated'
    WHEN "idem_is_delete" AND "idem_gone" AND (
      NOT "idem_buried" OR "idem_tomb" = 1
    )
    THEN 'buried'
    WHEN (
      NOT "idem_has_row" OR "idem_order" = 0
    )
    AND (
      NOT "idem_is_delete" OR "idem_tomb" = 0
    )
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
        WHEN "w"."idem_has_row"
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
        WHEN "w"."idem_is_delete"
        THEN CASE
          WHEN "w"."idem_deleted_0" > "d"."lsn"
          THEN 1
          WHEN "w"."idem_deleted_0" < "d"."lsn"
          THEN -1
          WHEN "d"."lsn" IS NULL AND NOT "w"."idem_deleted_0" IS NULL
          THEN 1
          WHEN "w"."idem_deleted_0" IS NULL AND NOT "d"."lsn" IS NULL
          THEN -1
          ELSE 0
        END
      END
    END AS "idem_tomb",
    "t"."_idem_deleted" AS "idem_was_gone",
    (
      "w"."idem_is_delete"
      AND (
        NOT "w"."idem_has_row"
        OR CASE
          WHEN "w"."idem_deleted_0" > "w"."lsn"
          THEN TRUE
          WHEN "w"."idem_deleted_0" < "w"."lsn"
          THEN FALSE
          WHEN "w"."lsn" IS NULL AND NOT "w"."idem_deleted_0" IS NULL
          THEN TRUE
          WHEN "w"."idem_deleted_0" IS NULL AND NOT "w"."lsn" IS NULL
          THEN FALSE
          ELSE FALSE
        END
      )
      AND (
        "t"."order_id" IS NULL
        OR CASE
          WHEN "w"."idem_deleted_0" > "t"."lsn"
          THEN TRUE
          WHEN "w"."idem_deleted_0" < "t"."lsn"
          THEN FALSE
          WHEN "t"."lsn" IS NULL AND NOT "w"."idem_deleted_0" IS NULL
          THEN TRUE
          WHEN "w"."idem_deleted_0" IS NULL AND NOT "t"."lsn" IS NULL
          THEN FALSE
          ELSE FALSE
        END
      )
    )
    OR (
      NOT "d"."order_id" IS NULL
      AND (
        NOT "w"."idem_has_row"
        OR CASE
          WHEN "d"."lsn" > "w"."lsn"
          THEN TRUE
          WHEN "d"."lsn" < "w"."lsn"
          THEN FALSE
          WHEN "w"."lsn" IS NULL AND NOT "d"."lsn" IS NULL
          THEN TRUE
          WHEN "d"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
          THEN FALSE
          ELSE FALSE
        END
      )
      AND (
        "t"."order_id" IS NULL
        OR CASE
          WHEN "d"."lsn" > "t"."lsn"
          THEN TRUE
          WHEN "d"."lsn" < "t"."lsn"
          THEN FALSE
          WHEN "t"."lsn" IS NULL AND NOT "d"."lsn" IS NULL
          THEN TRUE
          WHEN "d"."lsn" IS NULL AND NOT "t"."lsn" IS NULL
          THEN FALSE
          ELSE FALSE
        END
      )
    )
    OR (
      COALESCE("t"."_idem_deleted", FALSE)
      AND NOT NOT "d"."order_id" IS NULL
      AND NOT (
        "w"."idem_has_row"
        AND CASE
          WHEN "w"."lsn" > "t"."lsn"
          THEN TRUE
          WHEN "w"."lsn" < "t"."lsn"
          THEN FALSE
          WHEN "t"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
          THEN TRUE
          WHEN "w"."lsn" IS NULL AND NOT "t"."lsn" IS NULL
          THEN FALSE
          ELSE FALSE
        END
      )
    ) AS "idem_gone"
  FROM "pg_temp"."idem_winners" AS "w"
  LEFT JOIN "public"."orders" AS "t"
    ON "t"."order_id" = "w"."order_id"
  LEFT JOIN "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS "d"
    ON "d"."order_id" = "w"."order_id"
) AS "compared";

SELECT
  "idem_verdict",
  COUNT(*),
  0
FROM "pg_temp"."idem_winners_differing"
GROUP BY
  "idem_verdict";

UPDATE "public"."orders" AS "t" SET "status" = "c"."status", "lsn" = "c"."lsn", "_idem_deleted" = "c"."idem_gone"
FROM "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('deleted')
  AND "c"."idem_order" = 1
  AND "t"."ctid" = "c"."idem_place"
  AND "t"."order_id" = "c"."order_id";

UPDATE "public"."orders" AS "t" SET "_idem_deleted" = "c"."idem_gone"
FROM "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('deleted')
  AND NOT (
    "c"."idem_order" IS NOT DISTINCT FROM 1
  )
  AND "t"."ctid" = "c"."idem_place"
  AND "t"."order_id" = "c"."order_id";

UPDATE "public"."orders" AS "t" SET "status" = "c"."status", "lsn" = "c"."lsn", "_idem_deleted" = "c"."idem_gone"
FROM "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('updated')
  AND "c"."idem_order" = 1
  AND "t"."ctid" = "c"."idem_place"
  AND "t"."order_id" = "c"."order_id";

UPDATE "public"."orders" AS "t" SET "_idem_deleted" = "c"."idem_gone"
FROM "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('updated')
  AND NOT (
    "c"."idem_order" IS NOT DISTINCT FROM 1
  )
  AND "t"."ctid" = "c"."idem_place"
  AND "t"."order_id" = "c"."order_id";

INSERT INTO "public"."orders" (
  "order_id",
  "status",
  "lsn",
  "_idem_deleted"
)
SELECT
  "order_id",
  "status",
  "lsn",
  "idem_gone"
FROM "pg_temp"."idem_winners_differing"
WHERE
  "idem_verdict" IN ('inserted');

INSERT INTO "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" (
  "order_id",
  "lsn"
)
SELECT
  "w"."order_id",
  "w"."idem_deleted_0"
FROM "pg_temp"."idem_winners_differing" AS "w"
WHERE
  "w"."idem_is_delete"
  AND (
    NOT "w"."idem_buried" OR "w"."idem_tomb" = 1
  )
  AND "w"."idem_verdict" IN ('inserted', 'updated', 'deleted', 'buried')
  AND "w"."idem_gone" ON CONFLICT("order_id") DO UPDATE SET "lsn" = "excluded"."lsn", "idem_deleted_at" = CURRENT_TIMESTAMP;

DELETE FROM "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS "d" USING   "pg_temp"."idem_winners_differing" AS "c"
WHERE
  "c"."idem_verdict" IN ('inserted', 'updated')
  AND "c"."idem_buried"
  AND NOT "c"."idem_gone"
  AND "d"."order_id" = "c"."order_id";

-- Softly the greatest row stays beside the version of the last deletion; a changed key deletes the old one.
--
-- action: resolve_changes
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint not null
--     _idem_deleted: boolean not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]
-- events: {delete: soft, key_before: {order_id: old_order_id}}
-- winners: idem_winners
-- rows: idem_winners_rows

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT
  COALESCE("r"."order_id", "x"."order_id") AS "order_id",
  "r"."status",
  "r"."lsn",
  "x"."lsn" AS "idem_deleted_0",
  NOT "r"."order_id" IS NULL AS "idem_has_row",
  NOT "x"."order_id" IS NULL AS "idem_is_delete",
  "r"."order_id" IS NULL AND "x"."idem_beyond" AS "idem_beyond"
FROM (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id",
    "s"."status",
    "s"."lsn",
    "s"."idem_beyond"
  FROM (
    SELECT
      *
    FROM (
      SELECT
        "s"."order_id",
        "s"."status",
        "s"."lsn",
        CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete",
        FALSE AS "idem_beyond"
      FROM "pg_temp"."idem_staging" AS "s"
      UNION ALL
      SELECT
        COALESCE(CAST("s"."old_order_id" AS BIGINT), "s"."order_id") AS "order_id",
        CAST(NULL AS TEXT) AS "status",
        "s"."lsn",
        TRUE AS "idem_is_delete",
        TRUE AS "idem_beyond"
      FROM "pg_temp"."idem_staging" AS "s"
      WHERE
        CAST("s"."op" AS TEXT) IN ('U', 'u')
        AND CAST("s"."old_order_id" AS BIGINT) <> "s"."order_id"
    ) AS "all"
  ) AS "s"
  WHERE
    NOT "s"."idem_is_delete"
  ORDER BY
    "s"."order_id",
    "s"."lsn" DESC NULLS LAST,
    "s"."idem_beyond",
    "s"."status" DESC
) AS "r"
FULL JOIN (
  SELECT DISTINCT ON ("s"."order_id")
    "s"."order_id",
    "s"."lsn",
    "s"."idem_beyond"
  FROM (
    SELECT
      *
    FROM (
      SELECT
        "s"."order_id",
        "s"."status",
        "s"."lsn",
        CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete",
        FALSE AS "idem_beyond"
      FROM "pg_temp"."idem_staging" AS "s"
      UNION ALL
      SELECT
        COALESCE(CAST("s"."old_order_id" AS BIGINT), "s"."order_id") AS "order_id",
        CAST(NULL AS TEXT) AS "status",
        "s"."lsn",
        TRUE AS "idem_is_delete",
        TRUE AS "idem_beyond"
      FROM "pg_temp"."idem_staging" AS "s"
      WHERE
        CAST("s"."op" AS TEXT) IN ('U', 'u')
        AND CAST("s"."old_order_id" AS BIGINT) <> "s"."order_id"
    ) AS "all"
  ) AS "s"
  WHERE
    "s"."idem_is_delete"
  ORDER BY
    "s"."order_id",
    "s"."lsn" DESC NULLS LAST,
    "s"."idem_beyond",
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

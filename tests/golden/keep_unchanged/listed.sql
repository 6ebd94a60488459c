-- Columns that an event leaves out keep the value of the newest older row.
--
-- action: keep_unchanged
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     big: jsonb
--     lsn: bigint not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]
-- events: {unchanged_column: unchanged, unchanged_value: __unavailable}
-- winners: idem_winners

SELECT
  name,
  COUNT(*)
FROM (
  SELECT
    UNNEST("w"."idem_kept") AS name
  FROM "pg_temp"."idem_winners" AS "w"
) AS "missing"
GROUP BY
  name
ORDER BY
  name NULLS FIRST;

UPDATE "pg_temp"."idem_winners" AS "w" SET "status" = "f"."status", "idem_kept" = ARRAY_REMOVE("w"."idem_kept", 'status')
FROM (
  SELECT DISTINCT ON ("c"."order_id")
    "c"."order_id",
    "c"."status",
    "c"."idem_settled"
  FROM (
    SELECT
      "k"."order_id",
      "k"."lsn",
      "k"."status",
      "k"."idem_is_delete" AS "idem_is_delete",
      NOT "k"."idem_is_delete" AS "idem_settled"
    FROM "pg_temp"."idem_winners" AS "w"
    JOIN (
      SELECT
        "s"."order_id",
        "s"."status",
        "s"."big",
        "s"."lsn",
        CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete",
        CASE
          WHEN CAST("s"."op" AS TEXT) IN ('D', 'd')
          THEN CAST('{}' AS TEXT[])
          ELSE ARRAY_CAT(
            ARRAY(SELECT
              BTRIM("n"."name")
            FROM (
              SELECT
                JSONB_ARRAY_ELEMENTS_TEXT(
                  CASE
                    WHEN LEFT(BTRIM(CAST("s"."unchanged" AS TEXT)), 1) = '['
                    THEN CAST(BTRIM(CAST("s"."unchanged" AS TEXT)) AS JSONB)
                  END
                ) AS name
              UNION
              SELECT
                UNNEST(CASE
                  WHEN NOT LEFT(BTRIM(CAST("s"."unchanged" AS TEXT)), 1) = '['
                  THEN STRING_TO_ARRAY(BTRIM(CAST("s"."unchanged" AS TEXT)), ',')
                END)
            ) AS "n"
            WHERE
              BTRIM("n"."name") <> '' AND NOT BTRIM("n"."name") IN ('order_id', 'lsn')),
            ARRAY_REMOVE(
              CAST(ARRAY[
                CASE
                  WHEN CAST("s"."status" AS TEXT) IN ('__unavailable', '"__unavailable"')
                  THEN 'status'
                END,
                CASE
                  WHEN CAST("s"."big" AS TEXT) IN ('__unavailable', '"__unavailable"')
                  THEN 'big'
                END
              ] AS TEXT[]),
              NULL
            )
          )
        END AS "idem_kept"
      FROM "pg_temp"."idem_staging" AS "s"
    ) AS "k"
      ON "k"."order_id" = "w"."order_id"
    WHERE
      'status' = ANY(
        "w"."idem_kept"
      )
      AND NOT 'status' = ANY(
        "k"."idem_kept"
      )
      AND NOT CASE
        WHEN "k"."lsn" > "w"."lsn"
        THEN TRUE
        WHEN "k"."lsn" < "w"."lsn"
        THEN FALSE
        WHEN "w"."lsn" IS NULL AND NOT "k"."lsn" IS NULL
        THEN TRUE
        WHEN "k"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN FALSE
        ELSE FALSE
      END
    UNION ALL
    SELECT
      "k"."order_id",
      "k"."lsn",
      "k"."status",
      FALSE AS "idem_is_delete",
      TRUE AS "idem_settled"
    FROM "pg_temp"."idem_winners" AS "w"
    JOIN "public"."orders" AS "k"
      ON "k"."order_id" = "w"."order_id"
    WHERE
      'status' = ANY(
        "w"."idem_kept"
      )
    UNION ALL
    SELECT
      "k"."order_id",
      "k"."lsn",
      CAST(NULL AS TEXT) AS "status",
      TRUE AS "idem_is_delete",
      CASE
        WHEN "k"."lsn" > "w"."lsn"
        THEN TRUE
        WHEN "k"."lsn" < "w"."lsn"
        THEN FALSE
        WHEN "w"."lsn" IS NULL AND NOT "k"."lsn" IS NULL
        THEN TRUE
        WHEN "k"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN FALSE
        ELSE FALSE
      END AS "idem_settled"
    FROM "pg_temp"."idem_winners" AS "w"
    JOIN "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS "k"
      ON "k"."order_id" = "w"."order_id"
    WHERE
      'status' = ANY(
        "w"."idem_kept"
      )
  ) AS "c"
  ORDER BY
    "c"."order_id",
    "c"."lsn" DESC NULLS LAST,
    "c"."idem_is_delete",
    "c"."status" DESC
) AS "f"
WHERE
  "w"."order_id" = "f"."order_id"
  AND "f"."idem_settled"
  AND 'status' = ANY(
    "w"."idem_kept"
  );

UPDATE "pg_temp"."idem_winners" AS "w" SET "big" = "f"."big", "idem_kept" = ARRAY_REMOVE("w"."idem_kept", 'big')
FROM (
  SELECT DISTINCT ON ("c"."order_id")
    "c"."order_id",
    "c"."big",
    "c"."idem_settled"
  FROM (
    SELECT
      "k"."order_id",
      "k"."lsn",
      "k"."big",
      "k"."idem_is_delete" AS "idem_is_delete",
      NOT "k"."idem_is_delete" AS "idem_settled"
    FROM "pg_temp"."idem_winners" AS "w"
    JOIN (
      SELECT
        "s"."order_id",
        "s"."status",
        "s"."big",
        "s"."lsn",
        CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete",
        CASE
          WHEN CAST("s"."op" AS TEXT) IN ('D', 'd')
          THEN CAST('{}' AS TEXT[])
          ELSE ARRAY_CAT(
            ARRAY(SELECT
              BTRIM("n"."name")
            FROM (
              SELECT
                JSONB_ARRAY_ELEMENTS_TEXT(
                  CASE
                    WHEN LEFT(BTRIM(CAST("s"."unchanged" AS TEXT)), 1) = '['
                    THEN CAST(BTRIM(CAST("s"."unchanged" AS TEXT)) AS JSONB)
                  END
                ) AS name
              UNION
              SELECT
                UNNEST(CASE
                  WHEN NOT LEFT(BTRIM(CAST("s"."unchanged" AS TEXT)), 1) = '['
                  THEN STRING_TO_ARRAY(BTRIM(CAST("s"."unchanged" AS TEXT)), ',')
                END)
            ) AS "n"
            WHERE
              BTRIM("n"."name") <> '' AND NOT BTRIM("n"."name") IN ('order_id', 'lsn')),
            ARRAY_REMOVE(
              CAST(ARRAY[
                CASE
                  WHEN CAST("s"."status" AS TEXT) IN ('__unavailable', '"__unavailable"')
                  THEN 'status'
                END,
                CASE
                  WHEN CAST("s"."big" AS TEXT) IN ('__unavailable', '"__unavailable"')
                  THEN 'big'
                END
              ] AS TEXT[]),
              NULL
            )
          )
        END AS "idem_kept"
      FROM "pg_temp"."idem_staging" AS "s"
    ) AS "k"
      ON "k"."order_id" = "w"."order_id"
    WHERE
      'big' = ANY(
        "w"."idem_kept"
      )
      AND NOT 'big' = ANY(
        "k"."idem_kept"
      )
      AND NOT CASE
        WHEN "k"."lsn" > "w"."lsn"
        THEN TRUE
        WHEN "k"."lsn" < "w"."lsn"
        THEN FALSE
        WHEN "w"."lsn" IS NULL AND NOT "k"."lsn" IS NULL
        THEN TRUE
        WHEN "k"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN FALSE
        ELSE FALSE
      END
    UNION ALL
    SELECT
      "k"."order_id",
      "k"."lsn",
      "k"."big",
      FALSE AS "idem_is_delete",
      TRUE AS "idem_settled"
    FROM "pg_temp"."idem_winners" AS "w"
    JOIN "public"."orders" AS "k"
      ON "k"."order_id" = "w"."order_id"
    WHERE
      'big' = ANY(
        "w"."idem_kept"
      )
    UNION ALL
    SELECT
      "k"."order_id",
      "k"."lsn",
      CAST(NULL AS JSONB) AS "big",
      TRUE AS "idem_is_delete",
      CASE
        WHEN "k"."lsn" > "w"."lsn"
        THEN TRUE
        WHEN "k"."lsn" < "w"."lsn"
        THEN FALSE
        WHEN "w"."lsn" IS NULL AND NOT "k"."lsn" IS NULL
        THEN TRUE
        WHEN "k"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN FALSE
        ELSE FALSE
      END AS "idem_settled"
    FROM "pg_temp"."idem_winners" AS "w"
    JOIN "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS "k"
      ON "k"."order_id" = "w"."order_id"
    WHERE
      'big' = ANY(
        "w"."idem_kept"
      )
  ) AS "c"
  ORDER BY
    "c"."order_id",
    "c"."lsn" DESC NULLS LAST,
    "c"."idem_is_delete",
    CAST("c"."big" AS TEXT) COLLATE "C" DESC
) AS "f"
WHERE
  "w"."order_id" = "f"."order_id"
  AND "f"."idem_settled"
  AND 'big' = ANY(
    "w"."idem_kept"
  );

SELECT
  name,
  COUNT(*)
FROM (
  SELECT
    UNNEST("w"."idem_kept") AS name
  FROM "pg_temp"."idem_winners" AS "w"
) AS "missing"
GROUP BY
  name
ORDER BY
  name NULLS FIRST;

-- Names keep their case, quotes and percent signs; types that compare loosely are compared by their text.
--
-- action: replace_rows
-- shape:
--   columns:
--     "Id": uuid
--     "when %": timestamp with time zone
--     "place": point
--     "data": json
-- target: '"Sales-2024"."Or""der"'
-- source: idem_staging
-- within: ["when %", "2025-05-01"]

-- binds: start = 2025-05-01 00:00:00+00:00, end = 2025-05-02 00:00:00+00:00
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
  "w"."Id" AS "idem_value_0",
  "w"."when %%" AS "idem_value_1",
  "w"."place" AS "idem_value_2",
  "w"."data" AS "idem_value_3"
FROM (
  SELECT
    "s"."Id",
    "s"."when %%",
    "s"."place",
    "s"."data",
    "s"."ctid" AS "idem_new",
    HASH_RECORD_EXTENDED(
      ROW(
        "s"."Id",
        "s"."when %%",
        CAST("s"."place" AS TEXT) COLLATE "C",
        CAST("s"."data" AS TEXT) COLLATE "C"
      ),
      0
    ) AS "idem_hash",
    ROW_NUMBER() OVER (
      PARTITION BY HASH_RECORD_EXTENDED(
        ROW(
          "s"."Id",
          "s"."when %%",
          CAST("s"."place" AS TEXT) COLLATE "C",
          CAST("s"."data" AS TEXT) COLLATE "C"
        ),
        0
      ), "s"."Id", "s"."when %%", CAST("s"."place" AS TEXT) COLLATE "C", CAST("s"."data" AS TEXT) COLLATE "C"
    ) AS "idem_nth"
  FROM "pg_temp"."idem_staging" AS "s"
) AS "w"
FULL JOIN (
  SELECT
    "s"."Id",
    "s"."when %%",
    "s"."place",
    "s"."data",
    "s"."ctid" AS "idem_old",
    "s"."tableoid" AS "idem_child",
    "s"."xmin" AS "idem_writer",
    HASH_RECORD_EXTENDED(
      ROW(
        "s"."Id",
        "s"."when %%",
        CAST("s"."place" AS TEXT) COLLATE "C",
        CAST("s"."data" AS TEXT) COLLATE "C"
      ),
      0
    ) AS "idem_hash",
    ROW_NUMBER() OVER (
      PARTITION BY HASH_RECORD_EXTENDED(
        ROW(
          "s"."Id",
          "s"."when %%",
          CAST("s"."place" AS TEXT) COLLATE "C",
          CAST("s"."data" AS TEXT) COLLATE "C"
        ),
        0
      ), "s"."Id", "s"."when %%", CAST("s"."place" AS TEXT) COLLATE "C", CAST("s"."data" AS TEXT) COLLATE "C"
    ) AS "idem_nth"
  FROM "Sales-2024"."Or""der" AS "s"
  WHERE
    "s"."when %%" >= %(start)s AND "s"."when %%" < %(end)s
) AS "t"
  ON "w"."idem_hash" = "t"."idem_hash"
  AND "w"."idem_nth" = "t"."idem_nth"
  AND (
    "w"."Id" IS NOT DISTINCT FROM "t"."Id"
    AND "w"."when %%" IS NOT DISTINCT FROM "t"."when %%"
    AND CAST("w"."place" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."place" AS TEXT) COLLATE "C"
    AND CAST("w"."data" AS TEXT) COLLATE "C" IS NOT DISTINCT FROM CAST("t"."data" AS TEXT) COLLATE "C"
  )
WHERE
  "t"."idem_old" IS NULL OR "w"."idem_new" IS NULL
ORDER BY
  "t"."idem_old",
  "w"."idem_new";

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

DELETE FROM "Sales-2024"."Or""der" AS "t" USING   "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'deleted'
  AND "t"."ctid" = "d"."idem_old"
  AND "t"."tableoid" = "d"."idem_child"
  AND "t"."xmin" = "d"."idem_writer";

INSERT INTO "Sales-2024"."Or""der" (
  "Id",
  "when %",
  "place",
  "data"
)
SELECT
  "d"."idem_value_0",
  "d"."idem_value_1",
  "d"."idem_value_2",
  "d"."idem_value_3"
FROM "pg_temp"."idem_difference" AS "d"
WHERE
  "d"."effect" = 'inserted'
ORDER BY
  "d"."idem_new";

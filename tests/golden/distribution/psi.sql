-- A sample of the rows, always the same, counted in the bins of an earlier publication.
--
-- check: {distribution: {columns: [amount, updated_at], min_rows: 1}}
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone
--   unique_keys: [[order_id]]

SELECT
  COUNT(*)
FROM "pg_temp"."idem_winners";

-- binds: bins0 = ['1', '2'], bins1 = ['1', '2'], most = 9223372036854775807, seed = -2358635584675175211
WITH "sample" AS MATERIALIZED (
  SELECT
    CAST("amount" AS DOUBLE PRECISION) AS "c0",
    CAST(EXTRACT(epoch FROM "updated_at") AS DOUBLE PRECISION) AS "c1"
  FROM "pg_temp"."idem_winners"
  WHERE
    HASH_RECORD_EXTENDED(ROW("order_id"), CAST(%(seed)s AS BIGINT)) <= CAST(%(most)s AS BIGINT)
)
SELECT
  CAST('amount' AS TEXT),
  CAST('rows' AS TEXT),
  CAST(NULL AS TEXT),
  COUNT(*)
FROM "sample"
UNION ALL
SELECT
  CAST('amount' AS TEXT),
  CAST('nulls' AS TEXT),
  CAST(NULL AS TEXT),
  COUNT(*) FILTER(WHERE
    "sample"."c0" IS NULL)
FROM "sample"
UNION ALL
SELECT
  CAST('amount' AS TEXT),
  CAST('bin' AS TEXT),
  CAST((
    CAST(%(bins0)s AS DOUBLE PRECISION[])
  )[WIDTH_BUCKET("sample"."c0", CAST(%(bins0)s AS DOUBLE PRECISION[]))] AS TEXT) AS "bin",
  COUNT(*) AS "rows"
FROM "sample"
WHERE
  NOT "sample"."c0" IS NULL
GROUP BY
  3
UNION ALL
SELECT
  CAST('updated_at' AS TEXT),
  CAST('rows' AS TEXT),
  CAST(NULL AS TEXT),
  COUNT(*)
FROM "sample"
UNION ALL
SELECT
  CAST('updated_at' AS TEXT),
  CAST('nulls' AS TEXT),
  CAST(NULL AS TEXT),
  COUNT(*) FILTER(WHERE
    "sample"."c1" IS NULL)
FROM "sample"
UNION ALL
SELECT
  CAST('updated_at' AS TEXT),
  CAST('bin' AS TEXT),
  CAST((
    CAST(%(bins1)s AS DOUBLE PRECISION[])
  )[WIDTH_BUCKET("sample"."c1", CAST(%(bins1)s AS DOUBLE PRECISION[]))] AS TEXT) AS "bin",
  COUNT(*) AS "rows"
FROM "sample"
WHERE
  NOT "sample"."c1" IS NULL
GROUP BY
  3;

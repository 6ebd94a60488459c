-- Numbers and times in bins of a hundredth each, other columns by their most frequent values.
--
-- action: profile_partition
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     status: text
--     at: date
--   unique_keys: [[order_id]]
-- column: at
-- partition: "2025-05-01"
-- columns: [amount, status]
-- sampling: {key: [order_id], size: 10000, seed: 42}

-- binds: start = 2025-05-01, end = 2025-05-02, seed = 42, most = 9223372036854775807, shares = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.2, 0.21, 0.22, 0.23, 0.24, 0.25, 0.26, 0.27, 0.28, 0.29, 0.3, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38, 0.39, 0.4, 0.41, 0.42, 0.43, 0.44, 0.45, 0.46, 0.47, 0.48, 0.49, 0.5, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58, 0.59, 0.6, 0.61, 0.62, 0.63, 0.64, 0.65, 0.66, 0.67, 0.68, 0.69, 0.7, 0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.77, 0.78, 0.79, 0.8, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87, 0.88, 0.89, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99]
WITH "sample" AS MATERIALIZED (
  SELECT
    CAST("amount" AS DOUBLE PRECISION) AS "c0",
    LEFT(CAST("status" AS TEXT), 64) AS "c1"
  FROM (
    SELECT
      "order_id",
      "amount",
      "status",
      "at"
    FROM "public"."orders"
    WHERE
      "at" >= %(start)s AND "at" < %(end)s
  ) AS "partition_rows"
  WHERE
    HASH_RECORD_EXTENDED(ROW("order_id"), CAST(%(seed)s AS BIGINT)) <= CAST(%(most)s AS BIGINT)
), "edges" AS MATERIALIZED (
  SELECT
    PERCENTILE_DISC(CAST(%(shares)s AS DOUBLE PRECISION[])) WITHIN GROUP (ORDER BY
      "c0") AS "c0"
  FROM "sample"
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
    "edges"."c0"
  )[WIDTH_BUCKET("sample"."c0", "edges"."c0")] AS TEXT) AS "bin",
  COUNT(*) AS "rows"
FROM "sample"
CROSS JOIN "edges"
WHERE
  NOT "sample"."c0" IS NULL
GROUP BY
  3
UNION ALL
SELECT
  CAST('status' AS TEXT),
  CAST('rows' AS TEXT),
  CAST(NULL AS TEXT),
  COUNT(*)
FROM "sample"
UNION ALL
SELECT
  CAST('status' AS TEXT),
  CAST('nulls' AS TEXT),
  CAST(NULL AS TEXT),
  COUNT(*) FILTER(WHERE
    "sample"."c1" IS NULL)
FROM "sample"
UNION ALL
SELECT
  *
FROM (
  SELECT
    CAST('status' AS TEXT),
    CAST('bin' AS TEXT),
    CAST("sample"."c1" AS TEXT) AS "bin",
    COUNT(*) AS "rows"
  FROM "sample"
  WHERE
    NOT "sample"."c1" IS NULL
  GROUP BY
    3
  ORDER BY
    COUNT(*) DESC NULLS LAST,
    "sample"."c1" COLLATE "C"
  LIMIT 50
) AS "best1";

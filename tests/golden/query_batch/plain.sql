-- A query is sent as it was written: its function calls, its layout inside, its percent signs.
--
-- action: query_batch
-- shape:
--   columns:
--     day: date not null
--     orders: bigint
--   unique_keys: [[day]]
-- staging: idem_staging
-- query: |
--   SELECT date '2025-05-01' AS day, count(*) AS orders
--   FROM generate_series(1, 10) AS made (id)  -- ten of them
--   WHERE id % 2 = 0;

INSERT INTO "pg_temp"."idem_staging" (
  "day",
  "orders"
)
SELECT
  "q"."day",
  "q"."orders"
FROM (
  SELECT date '2025-05-01' AS day, count(*) AS orders
FROM generate_series(1, 10) AS made (id)  -- ten of them
WHERE id % 2 = 0
) AS "q";

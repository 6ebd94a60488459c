-- The same partition of another table; of the batch it is computed in the scan that all checks share.
--
-- check: {aggregate: {sql: "sum(amount) / count(distinct order_id)", against: public.orders, where: "status = 'paid'"}}
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     status: text
--     day: date
--   unique_keys: [[order_id]]

SELECT
  COUNT(*) FILTER(WHERE
    (
      status = 'paid'
    )),
  CAST((
    SUM(amount) FILTER(WHERE
      (
        status = 'paid'
      )) / COUNT(DISTINCT order_id) FILTER(WHERE
      (
        status = 'paid'
      ))
  ) AS DECIMAL)
FROM "pg_temp"."idem_winners";

-- binds: other_end = 2025-05-02, other_start = 2025-05-01
SELECT
  CAST((
    SUM(amount) / COUNT(DISTINCT order_id)
  ) AS DECIMAL)
FROM (
  SELECT
    *
  FROM "public"."orders"
  WHERE
    (
      "day" >= %(other_start)s AND "day" < %(other_end)s
    )
    AND (
      status = 'paid'
    )
) AS "other_rows";

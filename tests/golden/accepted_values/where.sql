-- A value that is not listed breaks it, NULL does not; other rows are let go by the condition, which stays as written.
--
-- check: {accepted_values: {columns: [status], values: [open, paid], where: "amount > 0 -- not the free ones"}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

-- binds: c0_value0 = open, c0_value1 = paid
SELECT
  COUNT(*) FILTER(WHERE
    (
      amount > 0
    )),
  COUNT(*) FILTER(WHERE
    (
      COALESCE((
        NOT "status" IN (%(c0_value0)s, %(c0_value1)s)
      ), FALSE)
    )
    AND (
      amount > 0
    ))
FROM "pg_temp"."idem_winners";

-- binds: value0 = open, value1 = paid
SELECT
  CAST("status" AS TEXT)
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM "pg_temp"."idem_winners"
    WHERE
      (
        amount > 0
      )
  ) AS "filtered_rows"
  WHERE
    COALESCE((
      NOT "status" IN (%(value0)s, %(value1)s)
    ), FALSE)
) AS "violations"
LIMIT 5;

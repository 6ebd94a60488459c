-- The user's query word for word, which calls the rows this_model.
--
-- check: {custom_sql: {name: early, sql: "select a.order_id from this_model a join this_model b using (order_id) where a.updated_at < :start"}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

SELECT
  COUNT(*)
FROM "pg_temp"."idem_winners";

-- binds: user_start = 2025-05-01 00:00:00+00:00
SELECT
  COUNT(*)
FROM (
  WITH "this_model" AS NOT MATERIALIZED (
    SELECT
      *
    FROM "pg_temp"."idem_winners"
  )
  SELECT
    *
  FROM (
    select a.order_id from this_model a join this_model b using (order_id) where a.updated_at < %(user_start)s
  ) AS "found"
) AS "violations";

-- binds: user_start = 2025-05-01 00:00:00+00:00
SELECT
  CAST(TO_JSONB("violations") AS TEXT)
FROM (
  WITH "this_model" AS NOT MATERIALIZED (
    SELECT
      *
    FROM "pg_temp"."idem_winners"
  )
  SELECT
    *
  FROM (
    select a.order_id from this_model a join this_model b using (order_id) where a.updated_at < %(user_start)s
  ) AS "found"
) AS "violations"
LIMIT 5;

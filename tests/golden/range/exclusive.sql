-- Strictly between; a time is never NaN.
--
-- check: {range: {columns: [updated_at], min: "2000-01-01", max: infinity, exclusive: true}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

-- binds: c0_max = infinity, c0_min = 2000-01-01
SELECT
  COUNT(*),
  COUNT(*) FILTER(WHERE
    COALESCE("updated_at" <= %(c0_min)s OR "updated_at" >= %(c0_max)s OR FALSE, FALSE)),
  COUNT(*) FILTER(WHERE
    COALESCE(FALSE, FALSE)),
  COUNT(*) FILTER(WHERE
    "updated_at" IS NULL)
FROM "pg_temp"."idem_winners";

-- binds: max = infinity, min = 2000-01-01
SELECT
  CAST("updated_at" AS TEXT)
FROM (
  SELECT
    *
  FROM "pg_temp"."idem_winners"
  WHERE
    COALESCE("updated_at" <= %(min)s OR "updated_at" >= %(max)s OR FALSE, FALSE)
) AS "violations"
LIMIT 5;

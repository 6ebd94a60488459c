-- Outside of the bounds, or NaN, which this type can be; NaN and NULL are counted apart.
--
-- check: {range: {columns: [amount], min: 0, max: 1000}}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

-- binds: c0_max = 1000, c0_min = 0
SELECT
  COUNT(*),
  COUNT(*) FILTER(WHERE
    COALESCE("amount" < %(c0_min)s OR "amount" > %(c0_max)s OR "amount" = 'NaN', FALSE)),
  COUNT(*) FILTER(WHERE
    COALESCE("amount" = 'NaN', FALSE)),
  COUNT(*) FILTER(WHERE
    "amount" IS NULL)
FROM "pg_temp"."idem_winners";

-- binds: max = 1000, min = 0
SELECT
  CAST("amount" AS TEXT)
FROM (
  SELECT
    *
  FROM "pg_temp"."idem_winners"
  WHERE
    COALESCE("amount" < %(min)s OR "amount" > %(max)s OR "amount" = 'NaN', FALSE)
) AS "violations"
LIMIT 5;

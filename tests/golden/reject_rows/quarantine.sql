-- What no rule can load is set aside with the reason, and so are rows of other days.
--
-- action: reject_rows
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     order_date: date
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- required: [order_id]
-- event_time: order_date
-- partition: "2025-05-01"
-- outside: true
-- quarantine: true

-- binds: start = 2025-05-01, end = 2025-05-02
WITH "gone" AS (
  DELETE FROM "pg_temp"."idem_staging"
  WHERE
    "order_id" IS NULL
    OR (
      SCALE("amount") > 2 AND MIN_SCALE("amount") > 2
    )
    OR (
      (
        "amount" >= 10000000000 OR "amount" <= -10000000000
      ) AND "amount" <> 'NaN'
    )
    OR NOT (
      "order_date" >= %(start)s AND "order_date" < %(end)s
    )
  RETURNING "_idem_part", "_idem_record", CASE
    WHEN "order_id" IS NULL
    THEN 'order_id'
    WHEN SCALE("amount") > 2 AND MIN_SCALE("amount") > 2
    THEN 'amount'
    WHEN (
      "amount" >= 10000000000 OR "amount" <= -10000000000
    ) AND "amount" <> 'NaN'
    THEN 'amount'
    WHEN NOT (
      "order_date" >= %(start)s AND "order_date" < %(end)s
    )
    THEN 'order_date'
  END AS column_name, CASE
    WHEN "order_id" IS NULL
    THEN 'NULL where a value is required'
    WHEN SCALE("amount") > 2 AND MIN_SCALE("amount") > 2
    THEN 'digits would be rounded away by numeric(12,2)'
    WHEN (
      "amount" >= 10000000000 OR "amount" <= -10000000000
    ) AND "amount" <> 'NaN'
    THEN 'does not fit numeric(12,2)'
    WHEN NOT (
      "order_date" >= %(start)s AND "order_date" < %(end)s
    )
    THEN 'outside partition 2025-05-01'
  END AS reason, JSONB_BUILD_OBJECT(
    'order_id',
    CAST("order_id" AS TEXT),
    'amount',
    CAST("amount" AS TEXT),
    'order_date',
    CAST("order_date" AS TEXT)
  ) AS content
)
INSERT INTO "pg_temp"."idem_rejected" (
  "part",
  "record",
  "column_name",
  "reason",
  "content"
)
SELECT
  "_idem_part",
  "_idem_record",
  "column_name",
  "reason",
  "content"
FROM "gone";

-- Several keys share one scan; each may have a condition of its own.
--
-- action: run_checks
-- rows: idem_winners
-- unique: [order_id]
-- checks:
--   - unique: [order_id]
--   - unique: [status, updated_at]
--   - unique: [amount]
--   - unique: {columns: [amount], where: "status = 'paid'"}
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

SELECT
  COUNT(*),
  COUNT(*),
  COUNT(*),
  COUNT(*) FILTER(WHERE
    (
      status = 'paid'
    ))
FROM "pg_temp"."idem_winners";

SELECT
  COUNT(*) FILTER(WHERE
    "idem_key" = 1 AND "idem_rows0" > 1),
  COUNT(*) FILTER(WHERE
    "idem_key" = 1
    AND "idem_rows0" > 1
    AND (
      "status" IS NULL OR "updated_at" IS NULL
    )),
  COUNT(*) FILTER(WHERE
    "idem_key" = 6 AND "idem_rows0" > 1),
  COUNT(*) FILTER(WHERE
    "idem_key" = 6 AND "idem_rows0" > 1 AND "amount" IS NULL),
  COUNT(*) FILTER(WHERE
    "idem_key" = 6 AND "idem_rows1" > 1),
  COUNT(*) FILTER(WHERE
    "idem_key" = 6 AND "idem_rows1" > 1 AND "amount" IS NULL)
FROM (
  SELECT
    "status",
    "updated_at",
    "amount",
    GROUPING("status", "updated_at", "amount") AS "idem_key",
    COUNT(*) AS "idem_rows0",
    COUNT(*) FILTER(WHERE
      (
        status = 'paid'
      )) AS "idem_rows1"
  FROM "pg_temp"."idem_winners"
  GROUP BY
    GROUPING SETS (
      ("status", "updated_at"),
      ("amount")
    )
  HAVING
    COUNT(*) > 1
) AS "repeated";

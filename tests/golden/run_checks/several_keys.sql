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
  COUNT(*),
  COUNT(DISTINCT HASH_RECORD_EXTENDED(ROW("status", "updated_at"), 0)),
  COUNT(*),
  COUNT(DISTINCT HASH_RECORD_EXTENDED(ROW("amount"), 0)),
  COUNT(*) FILTER(WHERE
    (
      status = 'paid'
    )),
  COUNT(DISTINCT HASH_RECORD_EXTENDED(ROW("amount"), 0)) FILTER(WHERE
    (
      status = 'paid'
    ))
FROM "pg_temp"."idem_winners";

-- Compared in validate, from what the ledger recorded: nothing of its own is asked here.
--
-- check: reconcile
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     updated_at: timestamp with time zone not null
--   unique_keys: [[order_id]]

SELECT
  COUNT(*)
FROM "pg_temp"."idem_winners";

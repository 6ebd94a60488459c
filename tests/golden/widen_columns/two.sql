-- Types in which every value stays the same.
--
-- action: widen_columns
-- shape:
--   columns:
--     order_id: int not null
--     amount: numeric(12,2)
--   unique_keys: [[order_id]]
-- columns:
--   order_id: [integer, bigint]
--   amount: ["numeric(12,2)", "numeric(14,2)"]

SELECT set_config('lock_timeout', least(nullif(setting::int, 0), 2000) || 'ms', true) FROM pg_catalog.pg_settings WHERE name = 'lock_timeout';

ALTER TABLE "public"."orders"
ALTER COLUMN "order_id" SET DATA TYPE BIGINT;

ALTER TABLE "public"."orders"
ALTER COLUMN "amount" SET DATA TYPE DECIMAL(14, 2);

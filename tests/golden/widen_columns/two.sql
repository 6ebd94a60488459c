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

-- binds: name = lock_timeout, value = 2s
SELECT set_config(%(name)s, %(value)s, true);

ALTER TABLE "public"."orders"
ALTER COLUMN "order_id" SET DATA TYPE BIGINT;

ALTER TABLE "public"."orders"
ALTER COLUMN "amount" SET DATA TYPE DECIMAL(14, 2);

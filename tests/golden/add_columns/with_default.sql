-- What the target lacks is added, with what the rows that are there get.
--
-- action: add_columns
-- shape:
--   columns:
--     order_id: bigint not null
--   unique_keys: [[order_id]]
-- columns:
--   _idem_deleted: boolean not null
--   "Größe": numeric(5,2)
-- defaults: {_idem_deleted: "false"}

SELECT set_config('lock_timeout', least(nullif(setting::int, 0), 2000) || 'ms', true) FROM pg_catalog.pg_settings WHERE name = 'lock_timeout';

ALTER TABLE "public"."orders"
ADD COLUMN IF NOT EXISTS "_idem_deleted" BOOLEAN DEFAULT false NOT NULL;

ALTER TABLE "public"."orders"
ADD COLUMN IF NOT EXISTS "Größe" DECIMAL(5, 2);

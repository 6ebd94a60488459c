-- Columns that the spec no longer has go, with their values.
--
-- action: drop_columns
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     "Größe": int
--   unique_keys: [[order_id]]
-- columns: [status, "Größe"]

SELECT set_config('lock_timeout', least(nullif(setting::int, 0), 2000) || 'ms', true) FROM pg_catalog.pg_settings WHERE name = 'lock_timeout';

ALTER TABLE "public"."orders"
DROP COLUMN IF EXISTS "status";

ALTER TABLE "public"."orders"
DROP COLUMN IF EXISTS "Größe";

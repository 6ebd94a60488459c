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

-- binds: name = lock_timeout, value = 2s
SELECT set_config(%(name)s, %(value)s, true);

ALTER TABLE "public"."orders"
DROP COLUMN IF EXISTS "status";

ALTER TABLE "public"."orders"
DROP COLUMN IF EXISTS "Größe";

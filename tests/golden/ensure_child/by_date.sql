-- One day of a table cut by a date, built aside and attached.
--
-- action: ensure_child
-- shape:
--   columns:
--     order_id: bigint not null
--     at: date not null
--   partitioned: true
-- column: at
-- partition: "2025-05-01"

CREATE TABLE "public"."orders_p20250501" (
  LIKE "public"."orders" INCLUDING ALL EXCLUDING IDENTITY
);

SELECT set_config('lock_timeout', least(nullif(setting::int, 0), 2000) || 'ms', true) FROM pg_catalog.pg_settings WHERE name = 'lock_timeout';

ALTER TABLE "public"."orders" ATTACH PARTITION "public"."orders_p20250501" FOR VALUES FROM ('2025-05-01') TO ('2025-05-02');

-- A table with room for updates in place, its key not null and primary.
--
-- action: create_target
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     amount: numeric(12,2)
--     updated_at: timestamp with time zone
-- unique_key: [order_id]
-- fillfactor: 85

CREATE SCHEMA IF NOT EXISTS "public";

CREATE TABLE IF NOT EXISTS "public"."orders" (
  "order_id" BIGINT NOT NULL,
  "status" TEXT,
  "amount" DECIMAL(12, 2),
  "updated_at" TIMESTAMPTZ,
  PRIMARY KEY ("order_id")
)
WITH (
  fillfactor=85
);

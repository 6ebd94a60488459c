-- A table cut by range, whose children carry the fill factor.
--
-- action: create_target
-- shape:
--   columns:
--     order_id: bigint not null
--     order_date: date not null
-- unique_key: [order_id, order_date]
-- fillfactor: 85
-- partition_column: order_date

CREATE SCHEMA IF NOT EXISTS "public";

CREATE TABLE IF NOT EXISTS "public"."orders" (
  "order_id" BIGINT NOT NULL,
  "order_date" DATE NOT NULL,
  PRIMARY KEY ("order_id", "order_date")
)
PARTITION BY RANGE("order_date");

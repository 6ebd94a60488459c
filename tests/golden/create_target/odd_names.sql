-- Names are quoted as written, types keep their digits.
--
-- action: create_target
-- target: '"Sales 2025"."Order"'
-- shape:
--   columns:
--     "Order Id": bigint not null
--     '50 %s off': character varying(10)
--     'at': timestamp(3) without time zone
--     tags: "text[]"
-- unique_key: ["Order Id"]

CREATE SCHEMA IF NOT EXISTS "Sales 2025";

CREATE TABLE IF NOT EXISTS "Sales 2025"."Order" (
  "Order Id" BIGINT NOT NULL,
  "50 %s off" VARCHAR(10),
  "at" TIMESTAMP(3),
  "tags" TEXT[],
  PRIMARY KEY ("Order Id")
);

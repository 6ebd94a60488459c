-- The side table has key and version of the target, and an index by age where tombstones end.
--
-- action: ensure_tombstones
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]
-- events: {tombstone_ttl: P30D}
-- expires: true

CREATE TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" AS
SELECT
  "order_id",
  "lsn",
  CAST(NULL AS TIMESTAMPTZ) AS "idem_deleted_at"
FROM "public"."orders" WITH NO DATA;

ALTER TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38"
ADD PRIMARY KEY ("order_id");

ALTER TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38"
ALTER COLUMN "idem_deleted_at" SET DEFAULT CURRENT_TIMESTAMP;

COMMENT ON TABLE "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38" IS 'Tombstones of public.orders: keys deleted by its change stream. See docs/how-to/cdc.md.';

CREATE INDEX ON "airflow_idempotent"."tombstones_7364671940706d5c_52b516e5edd54c38"("idem_deleted_at");

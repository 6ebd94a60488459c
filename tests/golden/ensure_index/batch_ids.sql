-- Batch ids are found by the order of their bytes, whatever the collation of the database.
--
-- action: ensure_index
-- shape:
--   columns:
--     order_id: bigint not null
--     order_date: date
--     status: text
--     _idem_batch_id: text
-- columns: [_idem_batch_id]

CREATE INDEX IF NOT EXISTS "idem_index_94071df88fd38da2" ON "public"."orders"("_idem_batch_id" COLLATE "C");

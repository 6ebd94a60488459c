-- Columns are matched by the names in the header of the file, whatever their order.
--
-- action: copy_batch
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- part: {name: part-00000.csv, columns: [status, order_id]}

COPY "pg_temp"."idem_staging" (
  "status",
  "order_id"
)
FROM STDIN WITH (
  FORMAT csv,
  HEADER TRUE,
  DELIMITER ',',
  QUOTE '"',
  NULL '',
  ENCODING 'utf-8'
);

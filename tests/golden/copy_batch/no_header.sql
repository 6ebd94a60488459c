-- Without a header the columns are those of the spec, in its order.
--
-- action: copy_batch
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- part: {name: part-00000.csv, columns: [order_id, status]}
-- format: {header: false}

COPY "pg_temp"."idem_staging" (
  "order_id",
  "status"
)
FROM STDIN WITH (
  FORMAT csv,
  HEADER FALSE,
  DELIMITER ',',
  QUOTE '"',
  NULL '',
  ENCODING 'utf-8'
);

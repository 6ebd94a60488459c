-- Delimiter, quote, NULL text and encoding are those of the spec.
--
-- action: copy_batch
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- part: {name: part-00000.csv, columns: [order_id, status]}
-- format: {delimiter: ";", quote: "'", "null": NA, encoding: latin1}

COPY "pg_temp"."idem_staging" (
  "order_id",
  "status"
)
FROM STDIN WITH (
  FORMAT csv,
  HEADER TRUE,
  DELIMITER ';',
  QUOTE '''',
  NULL 'NA',
  ENCODING 'latin1'
);

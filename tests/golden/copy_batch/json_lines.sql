-- JSON Lines and Parquet become CSV on the way: without a header, each text in quotes, NULL without.
--
-- action: copy_batch
-- shape:
--   columns:
--     order_id: bigint not null
--     tags: integer[]
--     doc: jsonb
--   unique_keys: [[order_id]]
-- staging: idem_staging
-- part: {name: part-00000.jsonl.zst, columns: [doc, order_id]}
-- format: {kind: jsonl}

COPY "pg_temp"."idem_staging" (
  "doc",
  "order_id"
)
FROM STDIN WITH (
  FORMAT csv,
  HEADER FALSE,
  DELIMITER ',',
  QUOTE '"',
  NULL '',
  ENCODING 'utf-8'
);

-- Codes are compared exactly; what nobody has explained refuses the batch.
--
-- action: inspect_changes
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]
-- events: {op_column: "op's", op_map: {insert: ["100%", "'"]}}

SELECT
  CAST("op's" AS TEXT),
  COUNT(*)
FROM "pg_temp"."idem_staging"
WHERE
  CAST("op's" AS TEXT) IS NULL
  OR NOT CAST("op's" AS TEXT) IN ('100%', '''', 'U', 'u', 'D', 'd')
GROUP BY
  CAST("op's" AS TEXT)
ORDER BY
  2 DESC NULLS LAST,
  CAST("op's" AS TEXT);

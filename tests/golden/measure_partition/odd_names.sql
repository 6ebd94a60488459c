-- Names may hold percent signs, also beside binds.
--
-- action: measure_partition
-- target: '"Sales 2025"."100 %"'
-- shape:
--   columns:
--     '50 %s off': integer
--     'on %': date
-- column: 'on %'
-- partition: "2025-05-01"

-- binds: start = 2025-05-01, end = 2025-05-02
SELECT
  COUNT(*),
  CAST(COALESCE(SUM(HASH_RECORD_EXTENDED(ROW("50 %%s off", "on %%"), 0)), 0) AS TEXT)
FROM "Sales 2025"."100 %%"
WHERE
  "on %%" >= %(start)s AND "on %%" < %(end)s;

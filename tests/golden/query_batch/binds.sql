-- Values are bound, never text; the percent signs beside them are doubled for the driver.
--
-- action: query_batch
-- shape:
--   columns:
--     key: text not null
--     "50% of": bigint
--   unique_keys: [[key]]
-- staging: idem_staging
-- query: |
--   SELECT :key || '%' AS key, (id % 7)::bigint AS "50% of" FROM generate_series(1, 1) AS made (id)
-- binds: [[key, "2025-05-01"]]

-- binds: key = 2025-05-01
INSERT INTO "pg_temp"."idem_staging" (
  "key",
  "50%% of"
)
SELECT
  "q"."key",
  "q"."50%% of"
FROM (
  SELECT %(key)s || '%%' AS key, (id %% 7)::bigint AS "50%% of" FROM generate_series(1, 1) AS made (id)
) AS "q";

-- All rows lie in one partition of a table cut by its key, so no other child is visited.
--
-- action: upsert_rows
-- shape:
--   columns:
--     order_id: bigint not null
--     order_date: date not null
--     status: text
--   unique_keys: [[order_id, order_date]]
-- source: idem_winners
-- unique_key: [order_id, order_date]
-- deduplicated: true
-- within: [order_date, "2025-05-01"]

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

CREATE TEMPORARY SEQUENCE idem_inserted MINVALUE 0 CACHE 10000;

CREATE TEMPORARY SEQUENCE idem_unchanged MINVALUE 0 CACHE 10000;

CREATE TEMPORARY SEQUENCE idem_stale MINVALUE 0 CACHE 10000;

SELECT
  NEXTVAL('pg_temp.idem_inserted'),
  NEXTVAL('pg_temp.idem_unchanged'),
  NEXTVAL('pg_temp.idem_stale');

-- binds: start = 2025-05-01, end = 2025-05-02
MERGE INTO "public"."orders" AS "t"
USING (
  SELECT
    "order_id",
    "order_date",
    "status"
  FROM "pg_temp"."idem_winners"
) AS "w"
ON "t"."order_id" = "w"."order_id"
AND "t"."order_date" = "w"."order_date"
AND "t"."order_date" >= %(start)s
AND "t"."order_date" < %(end)s
WHEN MATCHED AND CASE
  WHEN "w"."status" IS NOT DISTINCT FROM "t"."status"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  ELSE TRUE
END THEN UPDATE SET
  "status" = "w"."status"
WHEN NOT MATCHED AND NEXTVAL('pg_temp.idem_inserted') > 0 THEN INSERT ("order_id", "order_date", "status") VALUES ("w"."order_id", "w"."order_date", "w"."status");

-- Rows of the partition that the batch lacks are deleted, if there are any; no other row is looked at.
--
-- action: delete_missing
-- shape:
--   columns:
--     order_id: bigint not null
--     line_no: integer not null
--     order_date: date
--   unique_keys: [[order_id, line_no]]
-- source: idem_staging
-- unique_key: [order_id, line_no]
-- column: order_date
-- partition: "2025-05-01"

-- binds: start = 2025-05-01, end = 2025-05-02
SELECT
  EXISTS(
    SELECT
      1
    FROM "public"."orders" AS "t"
    WHERE
      "t"."order_date" >= %(start)s
      AND "t"."order_date" < %(end)s
      AND NOT EXISTS(
        SELECT
          1
        FROM "pg_temp"."idem_staging" AS "s"
        WHERE
          "s"."order_id" = "t"."order_id" AND "s"."line_no" = "t"."line_no"
      )
  );

-- binds: start = 2025-05-01, end = 2025-05-02
DELETE FROM "public"."orders" AS "t"
WHERE
  "t"."order_date" >= %(start)s
  AND "t"."order_date" < %(end)s
  AND NOT EXISTS(
    SELECT
      1
    FROM "pg_temp"."idem_staging" AS "s"
    WHERE
      "s"."order_id" = "t"."order_id" AND "s"."line_no" = "t"."line_no"
  );

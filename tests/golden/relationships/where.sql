-- Rows that refer to nobody, by a query of its own; NULL refers to none, and only paid orders are looked at.
--
-- check: {relationships: {column: customer_id, to: public.customers, to_where: "status = 'live'", where: "status = 'paid'"}}
-- shape:
--   columns:
--     order_id: bigint not null
--     customer_id: bigint
--     status: text
--   unique_keys: [[order_id]]

SELECT
  COUNT(*) FILTER(WHERE
    (
      status = 'paid'
    ))
FROM "pg_temp"."idem_winners";

SELECT
  COUNT(*)
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM "pg_temp"."idem_winners"
  ) AS "child"
  WHERE
    NOT "child"."customer_id" IS NULL
    AND NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "customer_id"
        FROM "public"."customers"
        WHERE
          (
            status = 'live'
          )
      ) AS "parent"
      WHERE
        "parent"."customer_id" = "child"."customer_id"
    )
) AS "violations";

SELECT
  CAST("customer_id" AS TEXT)
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        *
      FROM "pg_temp"."idem_winners"
      WHERE
        (
          status = 'paid'
        )
    ) AS "filtered_rows"
  ) AS "child"
  WHERE
    NOT "child"."customer_id" IS NULL
    AND NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          "customer_id"
        FROM "public"."customers"
        WHERE
          (
            status = 'live'
          )
      ) AS "parent"
      WHERE
        "parent"."customer_id" = "child"."customer_id"
    )
) AS "violations"
LIMIT 5;

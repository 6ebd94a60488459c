-- Is the key one on both sides (an index says so of the other table), then rows side by side.
--
-- check: {diff: {against: public.orders, tolerance: {amount: 0.01}}}
-- shape:
--   columns:
--     order_id: bigint not null
--     amount: numeric(12,2)
--     document: json
--     day: date
--   unique_keys: [[order_id]]

SELECT
  COUNT(*)
FROM "pg_temp"."idem_winners";

SELECT
  CAST("order_id" AS TEXT) AS "text0"
FROM "pg_temp"."idem_winners"
GROUP BY
  "order_id"
HAVING
  COUNT(*) > 1 OR "order_id" IS NULL
ORDER BY
  "order_id"
LIMIT 3;

-- binds: other_end = 2025-05-02, other_start = 2025-05-01
SELECT
  COUNT(*) FILTER(WHERE
    "idem_there" IS NULL),
  COUNT(*) FILTER(WHERE
    "idem_here" IS NULL),
  COUNT(*) FILTER(WHERE
    NOT "idem_here" IS NULL AND NOT "idem_there" IS NULL),
  COUNT(*) FILTER(WHERE
    "d0" OR "d1" OR "d2"),
  COUNT(*) FILTER(WHERE
    "d0"),
  COUNT(*) FILTER(WHERE
    "d1"),
  COUNT(*) FILTER(WHERE
    "d2")
FROM (
  SELECT
    COALESCE("h"."k0", "t"."k0") AS "k0",
    "h"."idem_here",
    "t"."idem_there",
    (
      "h"."idem_here" AND "t"."idem_there"
    )
    AND (
      "h"."c0" IS DISTINCT FROM "t"."c0"
      AND COALESCE(ABS("h"."c0" - "t"."c0") > 0.01, TRUE)
    ) AS "d0",
    (
      "h"."idem_here" AND "t"."idem_there"
    ) AND "h"."c1" IS DISTINCT FROM "t"."c1" AS "d1",
    (
      "h"."idem_here" AND "t"."idem_there"
    ) AND "h"."c2" IS DISTINCT FROM "t"."c2" AS "d2"
  FROM (
    SELECT
      "order_id" AS "k0",
      "amount" AS "c0",
      CAST("document" AS TEXT) AS "c1",
      "day" AS "c2",
      TRUE AS "idem_here"
    FROM "pg_temp"."idem_winners"
  ) AS "h"
  FULL JOIN (
    SELECT
      "order_id" AS "k0",
      "amount" AS "c0",
      CAST("document" AS TEXT) AS "c1",
      "day" AS "c2",
      TRUE AS "idem_there"
    FROM (
      SELECT
        *
      FROM "public"."orders"
      WHERE
        "day" >= %(other_start)s AND "day" < %(other_end)s
    ) AS "other_rows"
  ) AS "t"
    ON "h"."k0" = "t"."k0"
) AS "pairs";

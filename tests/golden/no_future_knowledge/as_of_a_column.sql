-- Nothing may have become known after the row's own as-of; who does not say when proves nothing.
--
-- check: {no_future_knowledge: {columns: [known_at], as_of: as_of}}
-- shape:
--   columns:
--     user_id: bigint not null
--     known_at: timestamp with time zone
--     as_of: timestamp with time zone
--   unique_keys: [[user_id]]

SELECT
  COUNT(*),
  COUNT(*) FILTER(WHERE
    NOT COALESCE("known_at" <= "as_of", FALSE)),
  COUNT(*) FILTER(WHERE
    NOT (
      "known_at" IS NULL OR "as_of" IS NULL
    )
    AND NOT COALESCE("known_at" <= "as_of", FALSE)),
  COUNT(*) FILTER(WHERE
    "known_at" IS NULL),
  COUNT(*) FILTER(WHERE
    "as_of" IS NULL)
FROM "pg_temp"."idem_winners";

SELECT
  CAST("known_at" AS TEXT),
  CAST("as_of" AS TEXT)
FROM (
  SELECT
    *
  FROM "pg_temp"."idem_winners"
  WHERE
    NOT COALESCE("known_at" <= "as_of", FALSE)
) AS "violations"
LIMIT 5;

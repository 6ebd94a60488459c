-- Of the events of a key the greatest version stays; of equal ones a row before a deletion.
--
-- action: resolve_changes
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint not null
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn]
-- events: {}
-- winners: idem_winners
-- rows: idem_winners_rows

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."lsn",
  "s"."idem_is_delete"
FROM (
  SELECT
    "s"."order_id",
    "s"."status",
    "s"."lsn",
    CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete"
  FROM "pg_temp"."idem_staging" AS "s"
) AS "s"
ORDER BY
  "s"."order_id",
  "s"."lsn" DESC NULLS LAST,
  "s"."idem_is_delete",
  "s"."status" DESC;

CREATE TEMPORARY VIEW "idem_winners_rows" AS
SELECT
  "order_id",
  "status",
  "lsn"
FROM "pg_temp"."idem_winners"
WHERE
  NOT "idem_is_delete";

-- A commit and a sequence within it decide together; both may be NULL, which is lowest.
--
-- strategy: cdc
-- shape:
--   columns:
--     order_id: bigint not null
--     status: text
--     lsn: bigint
--     seq: integer
--   unique_keys: [[order_id]]
-- unique_key: [order_id]
-- version: [lsn, seq]

CREATE TABLE "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb" AS
SELECT
  "order_id",
  "lsn",
  "seq",
  CAST(NULL AS TIMESTAMPTZ) AS "idem_deleted_at"
FROM "public"."orders" WITH NO DATA;

ALTER TABLE "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb"
ADD PRIMARY KEY ("order_id");

ALTER TABLE "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb"
ALTER COLUMN "idem_deleted_at" SET DEFAULT CURRENT_TIMESTAMP;

COMMENT ON TABLE "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb" IS 'Tombstones of public.orders: keys deleted by its change stream. See docs/how-to/cdc.md.';

SELECT
  CAST("op" AS TEXT),
  COUNT(*)
FROM "pg_temp"."idem_staging"
WHERE
  CAST("op" AS TEXT) IS NULL
  OR NOT CAST("op" AS TEXT) IN ('I', 'c', 'r', 'U', 'u', 'D', 'd')
GROUP BY
  CAST("op" AS TEXT)
ORDER BY
  2 DESC NULLS LAST,
  CAST("op" AS TEXT);

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id")
  "s"."order_id",
  "s"."status",
  "s"."lsn",
  "s"."seq",
  "s"."idem_is_delete"
FROM (
  SELECT
    "s"."order_id",
    "s"."status",
    "s"."lsn",
    "s"."seq",
    CAST("s"."op" AS TEXT) IN ('D', 'd') AS "idem_is_delete"
  FROM "pg_temp"."idem_staging" AS "s"
) AS "s"
ORDER BY
  "s"."order_id",
  "s"."lsn" DESC NULLS LAST,
  "s"."seq" DESC NULLS LAST,
  "s"."idem_is_delete",
  "s"."status" DESC;

CREATE TEMPORARY VIEW "idem_winners_rows" AS
SELECT
  "order_id",
  "status",
  "lsn",
  "seq"
FROM "pg_temp"."idem_winners"
WHERE
  NOT "idem_is_delete";

SAVEPOINT idem_write;

-- binds: name = enable_hashjoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_mergejoin, value = off
SELECT set_config(%(name)s, %(value)s, true);

-- binds: name = enable_material, value = off
SELECT set_config(%(name)s, %(value)s, true);

CREATE TEMPORARY SEQUENCE idem_inserted MINVALUE 0 CACHE 10000;

CREATE TEMPORARY SEQUENCE idem_deleted MINVALUE 0 CACHE 10000;

CREATE TEMPORARY SEQUENCE idem_unchanged MINVALUE 0 CACHE 10000;

CREATE TEMPORARY SEQUENCE idem_stale MINVALUE 0 CACHE 10000;

SELECT
  NEXTVAL('pg_temp.idem_inserted'),
  NEXTVAL('pg_temp.idem_deleted'),
  NEXTVAL('pg_temp.idem_unchanged'),
  NEXTVAL('pg_temp.idem_stale');

MERGE INTO "public"."orders" AS "t"
USING "pg_temp"."idem_winners" AS "w"
ON "t"."order_id" = "w"."order_id"
WHEN MATCHED AND CASE
  WHEN "w"."idem_is_delete"
  THEN CASE
    WHEN "w"."lsn" > "t"."lsn"
    THEN NEXTVAL('pg_temp.idem_deleted') > 0
    WHEN "w"."lsn" < "t"."lsn"
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    WHEN "t"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
    THEN NEXTVAL('pg_temp.idem_deleted') > 0
    WHEN "w"."lsn" IS NULL AND NOT "t"."lsn" IS NULL
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    WHEN "w"."seq" > "t"."seq"
    THEN NEXTVAL('pg_temp.idem_deleted') > 0
    WHEN "w"."seq" < "t"."seq"
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    WHEN "t"."seq" IS NULL AND NOT "w"."seq" IS NULL
    THEN NEXTVAL('pg_temp.idem_deleted') > 0
    WHEN "w"."seq" IS NULL AND NOT "t"."seq" IS NULL
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    ELSE NEXTVAL('pg_temp.idem_stale') < 0
  END
  ELSE FALSE
END THEN DELETE
WHEN MATCHED AND CASE
  WHEN "w"."idem_is_delete"
  THEN FALSE
  ELSE CASE
    WHEN "w"."lsn" > "t"."lsn"
    THEN TRUE
    WHEN "w"."lsn" < "t"."lsn"
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    WHEN "t"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
    THEN TRUE
    WHEN "w"."lsn" IS NULL AND NOT "t"."lsn" IS NULL
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    WHEN "w"."seq" > "t"."seq"
    THEN TRUE
    WHEN "w"."seq" < "t"."seq"
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    WHEN "t"."seq" IS NULL AND NOT "w"."seq" IS NULL
    THEN TRUE
    WHEN "w"."seq" IS NULL AND NOT "t"."seq" IS NULL
    THEN NEXTVAL('pg_temp.idem_stale') < 0
    ELSE CASE
      WHEN "w"."status" IS NOT DISTINCT FROM "t"."status"
      THEN NEXTVAL('pg_temp.idem_unchanged') < 0
      WHEN RECORD_GT(ROW("w"."status"), ROW("t"."status"))
      THEN TRUE
      ELSE NEXTVAL('pg_temp.idem_stale') < 0
    END
  END
END THEN UPDATE SET
  "status" = "w"."status",
  "lsn" = "w"."lsn",
  "seq" = "w"."seq"
WHEN NOT MATCHED AND CASE
  WHEN EXISTS(
    SELECT
      1
    FROM "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb" AS "d"
    WHERE
      "d"."order_id" = "w"."order_id"
      AND CASE
        WHEN "d"."lsn" > "w"."lsn"
        THEN TRUE
        WHEN "d"."lsn" < "w"."lsn"
        THEN FALSE
        WHEN "w"."lsn" IS NULL AND NOT "d"."lsn" IS NULL
        THEN TRUE
        WHEN "d"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN FALSE
        WHEN "d"."seq" > "w"."seq"
        THEN TRUE
        WHEN "d"."seq" < "w"."seq"
        THEN FALSE
        WHEN "w"."seq" IS NULL AND NOT "d"."seq" IS NULL
        THEN TRUE
        WHEN "d"."seq" IS NULL AND NOT "w"."seq" IS NULL
        THEN FALSE
        ELSE FALSE
      END
  )
  THEN NEXTVAL('pg_temp.idem_stale') < 0
  WHEN "w"."idem_is_delete"
  THEN NEXTVAL('pg_temp.idem_unchanged') < 0
  ELSE NEXTVAL('pg_temp.idem_inserted') > 0
END THEN INSERT ("order_id", "status", "lsn", "seq") VALUES ("w"."order_id", "w"."status", "w"."lsn", "w"."seq");

SELECT
  CURRVAL('pg_temp.idem_inserted'),
  CURRVAL('pg_temp.idem_deleted'),
  CURRVAL('pg_temp.idem_unchanged'),
  CURRVAL('pg_temp.idem_stale');

DROP SEQUENCE pg_temp.idem_inserted, pg_temp.idem_deleted, pg_temp.idem_unchanged, pg_temp.idem_stale;

INSERT INTO "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb" (
  "order_id",
  "lsn",
  "seq"
)
SELECT
  "w"."order_id",
  "w"."lsn",
  "w"."seq"
FROM "pg_temp"."idem_winners" AS "w"
WHERE
  "w"."idem_is_delete"
  AND NOT EXISTS(
    SELECT
      1
    FROM "public"."orders" AS "t"
    WHERE
      "t"."order_id" = "w"."order_id"
  )
  AND NOT EXISTS(
    SELECT
      1
    FROM "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb" AS "d"
    WHERE
      "d"."order_id" = "w"."order_id"
      AND NOT CASE
        WHEN "w"."lsn" > "d"."lsn"
        THEN TRUE
        WHEN "w"."lsn" < "d"."lsn"
        THEN FALSE
        WHEN "d"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
        THEN TRUE
        WHEN "w"."lsn" IS NULL AND NOT "d"."lsn" IS NULL
        THEN FALSE
        WHEN "w"."seq" > "d"."seq"
        THEN TRUE
        WHEN "w"."seq" < "d"."seq"
        THEN FALSE
        WHEN "d"."seq" IS NULL AND NOT "w"."seq" IS NULL
        THEN TRUE
        WHEN "w"."seq" IS NULL AND NOT "d"."seq" IS NULL
        THEN FALSE
        ELSE FALSE
      END
  ) ON CONFLICT("order_id") DO UPDATE SET "lsn" = "excluded"."lsn", "seq" = "excluded"."seq", "idem_deleted_at" = CURRENT_TIMESTAMP;

-- binds: name0 = enable_hashjoin, name1 = enable_mergejoin, name2 = enable_material, value0 = on, value1 = on, value2 = on
SELECT set_config(%(name0)s, %(value0)s, true), set_config(%(name1)s, %(value1)s, true), set_config(%(name2)s, %(value2)s, true);

DELETE FROM "airflow_idempotent"."tombstones_7364671940706d5c_abc29fa0921eb1bb" AS "d" USING   "pg_temp"."idem_winners" AS "w"
WHERE
  NOT "w"."idem_is_delete"
  AND "d"."order_id" = "w"."order_id"
  AND NOT CASE
    WHEN "d"."lsn" > "w"."lsn"
    THEN TRUE
    WHEN "d"."lsn" < "w"."lsn"
    THEN FALSE
    WHEN "w"."lsn" IS NULL AND NOT "d"."lsn" IS NULL
    THEN TRUE
    WHEN "d"."lsn" IS NULL AND NOT "w"."lsn" IS NULL
    THEN FALSE
    WHEN "d"."seq" > "w"."seq"
    THEN TRUE
    WHEN "d"."seq" < "w"."seq"
    THEN FALSE
    WHEN "w"."seq" IS NULL AND NOT "d"."seq" IS NULL
    THEN TRUE
    WHEN "d"."seq" IS NULL AND NOT "w"."seq" IS NULL
    THEN FALSE
    ELSE FALSE
  END;

-- A new child table takes the place of the old one, if they differ.
--
-- strategy: {kind: insert_overwrite, method: attach}
-- shape:
--   columns:
--     order_id: bigint not null
--     order_date: date not null
--     amount: numeric(12,2)
--   unique_keys: [[order_id, order_date]]
--   partitioned: true
-- unique_key: [order_id, order_date]
-- partition_column: order_date

CREATE TEMPORARY TABLE "idem_winners"
ON COMMIT DROP AS
SELECT DISTINCT ON ("s"."order_id", "s"."order_date")
  "s"."order_id",
  "s"."order_date",
  "s"."amount"
FROM "pg_temp"."idem_staging" AS "s"
ORDER BY
  "s"."order_id",
  "s"."order_date",
  "s"."amount" DESC;

CREATE TABLE "public"."idem_aside_ba88fa32320e0971" (
  LIKE "public"."orders" INCLUDING ALL EXCLUDING IDENTITY EXCLUDING INDEXES
);

ALTER TABLE "public"."idem_aside_ba88fa32320e0971"
  ADD CONSTRAINT "idem_bounds" CHECK (NOT "order_date" IS NULL
  AND "order_date" >= '2025-05-01'
  AND "order_date" < '2025-05-02');

-- binds: schema = public, name = orders, child_schema = public, child = orders_p20250501, aside = idem_aside_ba88fa32320e0971
WITH parent AS (
    SELECT c.* FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(name)s
), child AS (
    SELECT c.* FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(child_schema)s AND c.relname = %(child)s
), aside AS (
    SELECT c.* FROM pg_catalog.pg_class c JOIN child ON c.relnamespace = child.relnamespace
    WHERE c.relname = %(aside)s
)
SELECT format('foreign key %%s of %%s refers to its rows', f.conname, f.conrelid::regclass)
FROM pg_catalog.pg_constraint f JOIN child ON f.confrelid = child.oid WHERE f.contype = 'f'
UNION ALL
SELECT format('identity column %%s is always generated', a.attname)
FROM pg_catalog.pg_attribute a JOIN parent ON a.attrelid = parent.oid WHERE a.attidentity = 'a' AND NOT a.attisdropped
UNION ALL
SELECT format('trigger %%s would not fire for rows that are attached', t.tgname)
FROM pg_catalog.pg_trigger t JOIN parent ON t.tgrelid = parent.oid WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'
UNION ALL
SELECT format('trigger %%s of the child', t.tgname)
FROM pg_catalog.pg_trigger t JOIN child ON t.tgrelid = child.oid WHERE NOT t.tgisinternal AND t.tgparentid = 0
UNION ALL
SELECT format('rule %%s of the child', r.rulename)
FROM pg_catalog.pg_rewrite r JOIN child ON r.ev_class = child.oid
UNION ALL
SELECT format('policy %%s of the child', p.polname)
FROM pg_catalog.pg_policy p JOIN child ON p.polrelid = child.oid
UNION ALL
SELECT 'row level security of the child' FROM child WHERE relrowsecurity OR relforcerowsecurity
UNION ALL
SELECT format('grants on the child: %%s', child.relacl)
FROM child, aside WHERE child.relacl IS DISTINCT FROM aside.relacl
UNION ALL
SELECT format('grants on column %%s of the child', a.attname)
FROM pg_catalog.pg_attribute a JOIN child ON a.attrelid = child.oid WHERE a.attacl IS NOT NULL AND a.attnum > 0
UNION ALL
SELECT format('the child belongs to %%s, the new one to %%s', child.relowner::regrole, aside.relowner::regrole)
FROM child, aside WHERE child.relowner <> aside.relowner
UNION ALL
SELECT format('constraint %%s of the child', k.conname)
FROM pg_catalog.pg_constraint k JOIN child ON k.conrelid = child.oid
WHERE k.conparentid = 0 AND k.contype IN ('c', 'f', 'u', 'p', 'x')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint o JOIN aside ON o.conrelid = aside.oid
                  WHERE o.conname = k.conname AND o.contype = 'c')
UNION ALL
SELECT format('index %%s of the child', x.indexrelid::regclass)
FROM pg_catalog.pg_index x JOIN child ON x.indrelid = child.oid
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhrelid = x.indexrelid)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = x.indexrelid)
UNION ALL
SELECT format('publication %%s names the child', p.pubname)
FROM pg_catalog.pg_publication p
JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid
JOIN child ON r.prrelid = child.oid
UNION ALL
SELECT 'replica identity of the child' FROM child, aside WHERE child.relreplident <> aside.relreplident
UNION ALL
SELECT 'the child is unlogged, or in another tablespace' FROM child, aside
WHERE (child.relpersistence, child.reltablespace) IS DISTINCT FROM (aside.relpersistence, aside.reltablespace)
UNION ALL
SELECT 'the comment on the child' FROM pg_catalog.pg_description d JOIN child ON d.objoid = child.oid
WHERE d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0
UNION ALL
SELECT 'extended statistics of the child' FROM child, aside
WHERE (SELECT count(*) FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = child.oid)
    > (SELECT count(*) FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = aside.oid)
UNION ALL
SELECT DISTINCT format('view %%s reads the child', v.oid::regclass)
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_catalog.pg_rewrite'::regclass
JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
JOIN child ON d.refobjid = child.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
WHERE v.oid <> child.oid
ORDER BY 1;

INSERT INTO "public"."idem_aside_ba88fa32320e0971" (
  "order_id",
  "order_date",
  "amount"
)
SELECT
  "order_id",
  "order_date",
  "amount"
FROM "pg_temp"."idem_winners";

CREATE TABLE "public"."idem_parent_ba88fa32320e0971" (
  LIKE "public"."orders" INCLUDING ALL EXCLUDING IDENTITY
)
PARTITION BY RANGE("order_date");

ALTER TABLE "public"."idem_parent_ba88fa32320e0971" ATTACH PARTITION "public"."idem_aside_ba88fa32320e0971" FOR VALUES FROM ('2025-05-01') TO ('2025-05-02');

ALTER TABLE "public"."idem_parent_ba88fa32320e0971" DETACH PARTITION "public"."idem_aside_ba88fa32320e0971";

DROP TABLE "public"."idem_parent_ba88fa32320e0971";

SELECT set_config('lock_timeout', least(nullif(setting::int, 0), 2000) || 'ms', true) FROM pg_catalog.pg_settings WHERE name = 'lock_timeout';

ALTER TABLE "public"."orders" DETACH PARTITION "public"."orders_p20250501";

ALTER TABLE "public"."orders" ATTACH PARTITION "public"."idem_aside_ba88fa32320e0971" FOR VALUES FROM ('2025-05-01') TO ('2025-05-02');

ALTER TABLE "public"."idem_aside_ba88fa32320e0971"
DROP CONSTRAINT "idem_bounds";

DROP TABLE "public"."orders_p20250501";

ALTER TABLE "public"."idem_aside_ba88fa32320e0971"
RENAME TO "orders_p20250501";

"""Asking the catalogue what a table has and what hangs on it: fixed text, for PostgreSQL 13 and later.

Columns that only later servers have are read through ``to_jsonb``, which leaves out what is not there. All text that
PostgreSQL writes here is meant for an empty ``search_path``: then every name in it has its schema. Where such text
names the table itself, the last fact is how.
"""

from __future__ import annotations

from airflow_idempotent.sql.statement import Statement

SEARCH_PATH = Statement("SELECT current_setting('search_path'), set_config('search_path', '', true)")
"""Every name from now on with its schema; one row, with what was set before."""

_OWN = """
WITH t AS MATERIALIZED (
    SELECT c.*, format('%%I.%%I', n.nspname, c.relname) AS called
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = %(oid)s::bigint::oid
), columns AS MATERIALIZED (
    SELECT a.*, to_jsonb(a) AS facts FROM pg_catalog.pg_attribute a JOIN t ON a.attrelid = t.oid
    WHERE a.attnum > 0 AND NOT a.attisdropped
), grants AS (
    SELECT '' AS column_name, g.* FROM t, aclexplode(coalesce(t.relacl, acldefault('r', t.relowner))) g
    UNION ALL
    SELECT a.attname, g.* FROM columns a, aclexplode(a.attacl) g
)
SELECT 'owner' AS kind, '' AS name, r.rolname::text AS definition, ARRAY[r.rolname::text] AS facts
FROM t JOIN pg_catalog.pg_roles r ON r.oid = t.relowner
UNION ALL
SELECT 'grant', format('%%s%%s to %%s', g.privilege_type, ' (' || nullif(g.column_name, '') || ')',
           coalesce(r.rolname, 'PUBLIC')),
       CASE WHEN bool_or(g.is_grantable) THEN 'WITH GRANT OPTION' ELSE '' END,
       ARRAY[g.privilege_type, g.column_name, coalesce(r.rolname::text, ''), bool_or(g.is_grantable)::text]
FROM t JOIN grants g ON g.grantee <> t.relowner LEFT JOIN pg_catalog.pg_roles r ON r.oid = g.grantee
WHERE g.grantee = 0 OR r.oid IS NOT NULL
GROUP BY g.privilege_type, g.column_name, r.rolname
UNION ALL
SELECT 'row level security', v.word, v.is_on::text, ARRAY[v.word, v.is_on::text]
FROM t, LATERAL (VALUES ('enabled', t.relrowsecurity), ('forced', t.relforcerowsecurity)) v(word, is_on)
UNION ALL
SELECT 'policy', p.polname, concat_ws(' | ', p.polpermissive, p.polcmd, roles.names::text,
           pg_get_expr(p.polqual, t.oid), pg_get_expr(p.polwithcheck, t.oid)),
       ARRAY[p.polpermissive::text, p.polcmd::text, coalesce(pg_get_expr(p.polqual, t.oid), ''),
             coalesce(pg_get_expr(p.polwithcheck, t.oid), '')] || roles.names
FROM t JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid, LATERAL (
    SELECT coalesce(array_agg(r.rolname::text ORDER BY r.rolname), '{}') AS names
    FROM pg_catalog.pg_roles r WHERE r.oid = ANY (p.polroles)) roles
UNION ALL
SELECT 'trigger', g.tgname,
       replace(pg_get_triggerdef(g.oid), ' ON ' || t.called || ' ', ' ON ') || ' ' || g.tgenabled::text,
       ARRAY[pg_get_triggerdef(g.oid), g.tgenabled::text, t.called]
FROM t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal
UNION ALL
SELECT 'rule', r.rulename, replace(pg_get_ruledef(r.oid), t.called, '') || ' ' || r.ev_enabled::text,
       ARRAY[pg_get_ruledef(r.oid), r.ev_enabled::text]
FROM t JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid WHERE t.relkind IN ('r', 'p')
UNION ALL
SELECT 'comment', format('on %%s', c.word), c.text, ARRAY[c.kind, c.name, c.text] FROM (
    SELECT 'the table' AS word, 'TABLE' AS kind, '' AS name, obj_description(t.oid, 'pg_class') AS text FROM t
    UNION ALL
    SELECT 'column ' || a.attname, 'COLUMN', a.attname, col_description(a.attrelid, a.attnum) FROM columns a
    UNION ALL
    SELECT 'index ' || i.relname, 'INDEX', i.relname, obj_description(i.oid, 'pg_class')
    FROM t JOIN pg_catalog.pg_index x ON x.indrelid = t.oid JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
    UNION ALL
    SELECT 'constraint ' || k.conname, 'CONSTRAINT', k.conname, obj_description(k.oid, 'pg_constraint')
    FROM t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid
    UNION ALL
    SELECT 'trigger ' || g.tgname, 'TRIGGER', g.tgname, obj_description(g.oid, 'pg_trigger')
    FROM t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid
    UNION ALL
    SELECT 'policy ' || p.polname, 'POLICY', p.polname, obj_description(p.oid, 'pg_policy')
    FROM t JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid
    UNION ALL
    SELECT 'rule ' || r.rulename, 'RULE', r.rulename, obj_description(r.oid, 'pg_rewrite')
    FROM t JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid
    UNION ALL
    SELECT 'statistics ' || s.stxname, 'STATISTICS', s.stxname, obj_description(s.oid, 'pg_statistic_ext')
    FROM t JOIN pg_catalog.pg_statistic_ext s ON s.stxrelid = t.oid
) AS c WHERE c.text IS NOT NULL
UNION ALL
SELECT 'index', concat_ws(' ', CASE WHEN x.indisunique THEN 'UNIQUE' END, made.how), x.indisvalid::text,
       ARRAY[CASE WHEN x.indisunique THEN 'UNIQUE' ELSE '' END, made.how]
FROM t JOIN pg_catalog.pg_index x ON x.indrelid = t.oid,
     LATERAL (SELECT substring(pg_get_indexdef(x.indexrelid) FROM ' (USING .*)$') AS how) made
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = x.indexrelid AND k.conrelid = t.oid)
UNION ALL
SELECT CASE k.contype WHEN 'f' THEN 'foreign key' ELSE 'constraint' END,
       CASE k.confrelid WHEN k.conrelid THEN replace(pg_get_constraintdef(k.oid), ' ' || t.called || '(', ' itself(')
           ELSE pg_get_constraintdef(k.oid) END, '',
       ARRAY[k.conname::text, k.contype::text, pg_get_constraintdef(k.oid), (k.confrelid = k.conrelid)::text, t.called]
FROM t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid
WHERE k.contype IN ('c', 'u', 'p', 'x', 'f') AND k.conparentid = 0
UNION ALL
SELECT 'replica identity', '', coalesce('index ' || i.relname, t.relreplident::text),
       ARRAY[t.relreplident::text, coalesce(i.relname::text, '')]
FROM t LEFT JOIN pg_catalog.pg_index x ON x.indrelid = t.oid AND x.indisreplident AND t.relreplident = 'i'
LEFT JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
UNION ALL
SELECT 'publication', p.pubname, concat_ws(' | ', given.names::text, given.filter),
       ARRAY[coalesce(given.filter, '')] || given.names
FROM t JOIN pg_catalog.pg_publication_rel r ON r.prrelid = t.oid
JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid, LATERAL (
    SELECT coalesce(array_agg(a.attname::text ORDER BY a.attnum), '{}') AS names,
           (SELECT to_jsonb(f) ->> 'rowfilter' FROM pg_catalog.pg_publication_tables f
            WHERE f.pubname = p.pubname AND format('%%I.%%I', f.schemaname, f.tablename) = t.called) AS filter
    FROM columns a WHERE a.attnum::text = ANY (regexp_split_to_array(
        btrim(to_jsonb(r) ->> 'prattrs', '[] '), '[ ,]+'))) given
UNION ALL
SELECT 'extended statistics', concat_ws(' ', s.stxkind::text, said.what), s.stxstattarget::text,
       ARRAY[pg_get_statisticsobjdef(s.oid), s.stxname::text]
FROM t JOIN pg_catalog.pg_statistic_ext s ON s.stxrelid = t.oid,
     LATERAL (SELECT substring(pg_get_statisticsobjdef(s.oid) FROM ' ON (.*) FROM ') AS what) said
UNION ALL
SELECT 'option of a column', format('%%s of %%s', o.word, a.attname), o.value, ARRAY[o.word, a.attname::text, o.value]
FROM columns a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid, LATERAL (
    VALUES ('STATISTICS', CASE WHEN (a.facts ->> 'attstattarget')::int >= 0 THEN a.facts ->> 'attstattarget' END),
           ('STORAGE', CASE WHEN a.attstorage <> y.typstorage THEN
               CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END
            END),
           ('COMPRESSION', CASE a.facts ->> 'attcompression' WHEN 'p' THEN 'pglz' WHEN 'l' THEN 'lz4' END)
) o(word, value) WHERE o.value IS NOT NULL
UNION ALL
SELECT 'option of a column', format('%%s of %%s', o.option_name, a.attname), o.option_value,
       ARRAY['SET', a.attname::text, o.option_value, o.option_name]
FROM columns a, pg_options_to_table(a.attoptions) o
UNION ALL
SELECT 'storage parameter', o.option_name, o.option_value, ARRAY[o.option_name, o.option_value]
FROM t, pg_options_to_table(t.reloptions) o
UNION ALL
SELECT 'tablespace', '', coalesce(s.spcname, ''), '{}'::text[]
FROM t LEFT JOIN pg_catalog.pg_tablespace s ON s.oid = t.reltablespace
UNION ALL
SELECT 'default', a.attname, pg_get_expr(f.adbin, f.adrelid), ARRAY[a.attname::text, pg_get_expr(f.adbin, f.adrelid)]
FROM columns a JOIN pg_catalog.pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
WHERE a.attgenerated = ''
UNION ALL
SELECT CASE d.deptype WHEN 'i' THEN 'identity' ELSE 'sequence' END, a.attname, a.attidentity::text,
       ARRAY[a.attname::text, q.oid::bigint::text, n.nspname::text, q.relname::text, a.attidentity::text]
FROM columns a
JOIN pg_catalog.pg_depend d ON d.refobjid = a.attrelid AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i')
    AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.classid = 'pg_catalog.pg_class'::regclass
JOIN pg_catalog.pg_class q ON q.oid = d.objid AND q.relkind = 'S'
JOIN pg_catalog.pg_namespace n ON n.oid = q.relnamespace
ORDER BY 1, 2, 3
"""

_HANGING = """
WITH RECURSIVE t AS MATERIALIZED (
    SELECT c.*, y.typarray FROM pg_catalog.pg_class c JOIN pg_catalog.pg_type y ON y.oid = c.reltype
    WHERE c.oid = %(oid)s::bigint::oid
), reading AS (
    SELECT DISTINCT d.refobjid AS below, v.oid, v.relkind
    FROM pg_catalog.pg_depend d
    JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_catalog.pg_rewrite'::regclass
    JOIN pg_catalog.pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
    WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND v.oid <> d.refobjid
), above AS (
    SELECT r.oid, r.relkind, true AS direct FROM reading r JOIN t ON r.below = t.oid
    UNION
    SELECT r.oid, r.relkind, false FROM above JOIN reading r ON r.below = above.oid
), views AS (
    SELECT v.*, n.nspname, bool_or(a.direct) AS direct
    FROM above a JOIN pg_catalog.pg_class v ON v.oid = a.oid JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace
    GROUP BY v.oid, n.nspname
)
SELECT CASE WHEN NOT v.direct THEN 'view on a view of it' WHEN v.relkind = 'm' THEN 'materialised view' ELSE 'view' END,
       format('%%I.%%I', v.nspname, v.relname), pg_get_viewdef(v.oid),
       ARRAY[v.nspname::text, v.relname::text, pg_get_viewdef(v.oid), coalesce(array_to_string(v.reloptions, ', '), '')]
       || (SELECT coalesce(array_agg(pg_get_indexdef(x.indexrelid)), '{}')
           FROM pg_catalog.pg_index x WHERE x.indrelid = v.oid)
FROM views v
UNION ALL
SELECT 'foreign key to it', format('%%I of %%s', k.conname, k.conrelid::regclass), pg_get_constraintdef(k.oid),
       ARRAY[n.nspname::text, c.relname::text, k.conname::text, pg_get_constraintdef(k.oid), k.convalidated::text,
             c.relkind::text, t.oid::regclass::text]
FROM t JOIN pg_catalog.pg_constraint k ON k.confrelid = t.oid AND k.contype = 'f' AND k.conparentid = 0
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid AND c.oid <> t.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
UNION ALL
SELECT 'inheritance', i.inhrelid::regclass::text || ' inherits from it', '', '{}'::text[]
FROM t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid WHERE t.relkind <> 'p'
UNION ALL
SELECT 'inheritance', 'it inherits from ' || i.inhparent::regclass::text, '', '{}'::text[]
FROM t JOIN pg_catalog.pg_inherits i ON i.inhrelid = t.oid
UNION ALL
SELECT DISTINCT 'function', p.oid::regprocedure::text, '', ARRAY[pg_get_functiondef(p.oid)]
FROM t JOIN pg_catalog.pg_depend d ON (d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = t.oid)
    OR (d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid IN (t.reltype, t.typarray))
JOIN pg_catalog.pg_proc p ON p.oid = d.objid AND d.classid = 'pg_catalog.pg_proc'::regclass AND p.prokind <> 'a'
UNION ALL
SELECT 'use of its row type', format('column %%I of %%s', a.attname, a.attrelid::regclass), '', '{}'::text[]
FROM t JOIN pg_catalog.pg_attribute a ON a.atttypid IN (t.reltype, t.typarray) AND NOT a.attisdropped
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'm', 'f', 'c')
ORDER BY 1, 2, 3
"""


def own(oid: int) -> Statement:
    """Rows of kind, name, definition and facts of all that a table itself has."""
    return Statement(_OWN, {"oid": oid})


def hanging_on(oid: int) -> Statement:
    """The same of all that refers to the table: it stays with it when another one takes its name."""
    return Statement(_HANGING, {"oid": oid})

"""What hangs on a live table and would not follow to another one by the exchange of names."""

from __future__ import annotations

from airflow_idempotent.sql.statement import Statement

_LOSSES = """
WITH live AS (SELECT c.* FROM pg_catalog.pg_class c WHERE c.oid = %(live)s::bigint::oid),
next AS (SELECT c.* FROM pg_catalog.pg_class c WHERE c.oid = %(shadow)s::bigint::oid),
live_columns AS (SELECT a.* FROM pg_catalog.pg_attribute a JOIN live ON a.attrelid = live.oid WHERE a.attnum > 0),
next_columns AS (SELECT a.* FROM pg_catalog.pg_attribute a JOIN next ON a.attrelid = next.oid WHERE a.attnum > 0)
SELECT DISTINCT CASE v.relkind WHEN 'm' THEN 'materialised view ' ELSE 'view ' END || v.oid::regclass || ' reads it'
FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_catalog.pg_rewrite'::regclass
JOIN pg_catalog.pg_class v ON v.oid = r.ev_class
JOIN live ON d.refobjid = live.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
WHERE v.oid <> live.oid
UNION ALL
SELECT format('foreign key %%s of %%s refers to it', f.conname, f.conrelid::regclass)
FROM pg_catalog.pg_constraint f JOIN live ON f.confrelid = live.oid
WHERE f.contype = 'f' AND f.conrelid <> live.oid AND f.conparentid = 0
UNION ALL
SELECT format('%%s inherits from it', i.inhrelid::regclass) FROM pg_catalog.pg_inherits i
JOIN live ON i.inhparent = live.oid WHERE live.relkind <> 'p'
UNION ALL
SELECT format('owner %%s, not %%s', live.relowner::regrole, next.relowner::regrole)
FROM live, next WHERE live.relowner <> next.relowner
UNION ALL
SELECT format('grants %%s, not %%s', coalesce(live.relacl, '{}'), coalesce(next.relacl, '{}')) FROM live, next
WHERE coalesce(live.relacl, acldefault('r', live.relowner)) <> coalesce(next.relacl, acldefault('r', next.relowner))
UNION ALL
SELECT format('grants on column %%s', a.attname) FROM live_columns a
WHERE a.attacl IS NOT NULL AND NOT EXISTS (
    SELECT FROM next_columns b WHERE b.attname = a.attname AND b.attacl = a.attacl)
UNION ALL
SELECT 'row level security' FROM live, next
WHERE (live.relrowsecurity, live.relforcerowsecurity) <> (next.relrowsecurity, next.relforcerowsecurity)
UNION ALL
SELECT format('policy %%s', p.polname) FROM pg_catalog.pg_policy p JOIN live ON p.polrelid = live.oid
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_policy o JOIN next ON o.polrelid = next.oid WHERE o.polname = p.polname)
UNION ALL
SELECT format('trigger %%s', t.tgname) FROM pg_catalog.pg_trigger t JOIN live ON t.tgrelid = live.oid
WHERE NOT t.tgisinternal AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_trigger o JOIN next ON o.tgrelid = next.oid WHERE o.tgname = t.tgname)
UNION ALL
SELECT format('rule %%s', r.rulename) FROM pg_catalog.pg_rewrite r JOIN live ON r.ev_class = live.oid
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_rewrite o JOIN next ON o.ev_class = next.oid WHERE o.rulename = r.rulename)
UNION ALL
SELECT 'the comment on the table' FROM live, next
WHERE obj_description(live.oid, 'pg_class') IS NOT NULL
  AND obj_description(live.oid, 'pg_class') IS DISTINCT FROM obj_description(next.oid, 'pg_class')
UNION ALL
SELECT format('the comment on column %%s', a.attname) FROM live_columns a
JOIN next_columns b ON b.attname = a.attname
WHERE col_description(a.attrelid, a.attnum) IS NOT NULL
  AND col_description(a.attrelid, a.attnum) IS DISTINCT FROM col_description(b.attrelid, b.attnum)
UNION ALL
SELECT format('publication %%s', p.pubname) FROM pg_catalog.pg_publication p
JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid JOIN live ON r.prrelid = live.oid
WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_publication_rel o JOIN next ON o.prrelid = next.oid WHERE o.prpubid = p.oid)
UNION ALL
SELECT 'replica identity' FROM live, next WHERE live.relreplident <> next.relreplident
UNION ALL
SELECT format('column %%s takes its numbers from a sequence of the live table', b.attname)
FROM next_columns b
JOIN pg_catalog.pg_attrdef f ON f.adrelid = b.attrelid AND f.adnum = b.attnum
JOIN pg_catalog.pg_depend d ON d.objid = f.oid AND d.classid = 'pg_catalog.pg_attrdef'::regclass
    AND d.refclassid = 'pg_catalog.pg_class'::regclass
JOIN pg_catalog.pg_depend o ON o.objid = d.refobjid AND o.classid = 'pg_catalog.pg_class'::regclass
    AND o.deptype IN ('a', 'i')
JOIN live ON o.refobjid = live.oid
UNION ALL
SELECT format('identity column %%s: its numbers would begin anew', a.attname)
FROM live_columns a JOIN next_columns b ON b.attname = a.attname WHERE b.attidentity <> ''
ORDER BY 1
"""


def losses(live: int, shadow: int) -> Statement:
    """One line for each; both tables by their oids."""
    return Statement(_LOSSES, {"live": live, "shadow": shadow})

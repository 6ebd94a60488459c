"""Asking the catalogue: columns and unique keys of a table, always by schema and name."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.statement import Statement, statement, table

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
       a.attgenerated = '' AND a.attidentity <> 'a', coalesce(l.collisdeterministic, true),
       CASE y.typtype WHEN 'd' THEN format_type(y.typbasetype, y.typtypmod) ELSE '' END, c.relkind = 'p',
       EXISTS (SELECT FROM pg_catalog.pg_trigger g  -- 1: for each row, 2: before
               WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgtype & 3 = 3)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND c.relkind::text = ANY (%(kinds)s)
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""

_UNIQUE_KEYS = """
SELECT array_agg(a.attname::text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_index i ON i.indrelid = c.oid
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
WHERE n.nspname = %(schema)s AND c.relname = %(name)s
  AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid
"""

_SIMILAR = """
SELECT n.nspname, c.relname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND lower(c.relname) = lower(%(name)s) AND n.nspname !~ '^pg_'
ORDER BY 1, 2 LIMIT 5
"""


_DEFAULT_CHILD = """
SELECT dn.nspname, d.relname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = c.oid
JOIN pg_catalog.pg_class d ON d.oid = p.partdefid
JOIN pg_catalog.pg_namespace dn ON dn.oid = d.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s
"""

_FOUND = """
SELECT n.nspname IS NOT NULL, c.relname IS NOT NULL
FROM (SELECT) AS always
LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = %(schema)s
LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = %(name)s
"""


def found(relation: Relation) -> Statement:
    """One row: whether the schema is there, and the table.

    Read from the catalogue's tables, as all here is: ``to_regclass`` may remember what was so before
    a lock was waited for.
    """
    return Statement(_FOUND, {"schema": relation.schema, "name": relation.name})


def columns_of(relation: Relation, *, views: bool = False) -> Statement:
    """Rows of the facts of ``Column``, then whether the table is partitioned and intercepted; none without a table.

    ``views`` counts what can only be read as a table, too.
    """
    kinds = ["r", "p", "v", "m", "f"] if views else ["r", "p"]
    return Statement(_COLUMNS, {"schema": relation.schema, "name": relation.name, "kinds": kinds})


def unique_keys_of(relation: Relation) -> Statement:
    """One row per index that keeps its columns unique: the array of their names."""
    return Statement(_UNIQUE_KEYS, {"schema": relation.schema, "name": relation.name})


def default_child(relation: Relation) -> Statement:
    """The schema and name of the child that takes what no other child takes; no row when there is none."""
    return Statement(_DEFAULT_CHILD, {"schema": relation.schema, "name": relation.name})


def similar_to(relation: Relation) -> Statement:
    """Tables of the same name in other schemas or another case: (schema, name)."""
    return Statement(_SIMILAR, {"name": relation.name})


# All temporary things that a load makes are named so, and gone when its transaction ends.
LEFTOVERS = Statement(r"""
SELECT relname, CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END
FROM pg_catalog.pg_class
WHERE relnamespace = pg_my_temp_schema() AND relname LIKE 'idem\_%' AND relkind IN ('r', 'S', 'v')
""")


def drop_temporary(name: str, kind: str) -> Statement:
    """DROP of a temporary table, sequence or view, with what hangs on it."""
    return statement(exp.Drop(tables=[table(name)], kind=kind, exists=True, cascade=True))

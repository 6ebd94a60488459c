"""Exchanging tables: what has a name, what would be lost, the locks, the renames."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.renames import Rename
from airflow_idempotent.sql.dialects.postgres import LockTable, RenameConstraint, RenameThing
from airflow_idempotent.sql.statement import Statement, quoted, statement, table

LOCK_WAIT_MS = 100
"""How long a swap stands in the queue for a table, and with it everybody who comes after."""

NOW = Statement("SELECT clock_timestamp()")
_FACTS = """
SELECT c.oid::bigint, c.relkind::text, c.relispartition
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s
"""

_NAMED = """
WITH RECURSIVE tree AS (
    SELECT c.oid, c.relname, c.relnamespace, text '' COLLATE "C" AS path
    FROM pg_catalog.pg_class c WHERE c.oid = %(oid)s::bigint::oid
    UNION ALL
    SELECT c.oid, c.relname, c.relnamespace, tree.path || '/' || pg_get_expr(c.relpartbound, c.oid) COLLATE "C"
    FROM tree
    JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relispartition
)
SELECT named.path, named.kind, named.definition, named.name, n.nspname, named.of FROM (
    SELECT path, 'TABLE' AS kind, path AS definition, relname AS name, relnamespace AS schema, relname AS of
    FROM tree WHERE path <> ''
    UNION ALL
    SELECT t.path, 'INDEX', concat_ws(' ', x.indisunique, x.indisprimary, x.indisexclusion, k.condeferrable,
               k.condeferred, substring(pg_get_indexdef(c.oid) FROM ' USING .*')), c.relname, c.relnamespace, t.relname
    FROM tree t
    JOIN pg_catalog.pg_index x ON x.indrelid = t.oid
    JOIN pg_catalog.pg_class c ON c.oid = x.indexrelid
    LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = c.oid AND k.conrelid = t.oid
    UNION ALL
    SELECT t.path, 'SEQUENCE', a.attname, c.relname, c.relnamespace, t.relname
    FROM tree t
    JOIN pg_catalog.pg_depend d ON d.refobjid = t.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
        AND d.refobjsubid > 0 AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')
    JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind = 'S'
    JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
    UNION ALL
    SELECT t.path, 'STATISTICS', concat_ws(' ', s.stxkind::text, pg_get_statisticsobjdef_columns(s.oid)), s.stxname,
           s.stxnamespace, t.relname
    FROM tree t JOIN pg_catalog.pg_statistic_ext s ON s.stxrelid = t.oid
    UNION ALL
    SELECT t.path, 'CONSTRAINT', concat_ws(' ', k.contype, pg_get_constraintdef(k.oid)), k.conname, t.relnamespace,
           t.relname
    FROM tree t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.oid
    LEFT JOIN pg_catalog.pg_constraint p ON p.oid = k.conparentid
    WHERE k.contype IN ('c', 'n', 'f') AND k.conislocal AND k.conparentid = 0 AND k.coninhcount = 0
       OR k.contype = 'f' AND p.conrelid <> k.conrelid -- a child's, which does not follow when its parent's is renamed
) AS named JOIN pg_catalog.pg_namespace n ON n.oid = named.schema
ORDER BY 1, 2, 3, 4
"""

_TAKEN = """
SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s
UNION ALL
SELECT s.stxname FROM pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
WHERE n.nspname = %(schema)s
"""


def facts_of(relation: Relation) -> Statement:
    """One row: oid, kind, whether it is a child of a partitioned table; none when there is no such relation."""
    return Statement(_FACTS, {"schema": relation.schema, "name": relation.name})


def named_of(oid: int) -> Statement:
    """Rows of the facts of ``core.renames.Named``: everything of a table that has a name."""
    return Statement(_NAMED, {"oid": oid})


def taken_in(schema: str) -> Statement:
    """Every name of a schema that a table, an index, a sequence or statistics may not have again."""
    return Statement(_TAKEN, {"schema": schema})


def has_rows(relation: Relation) -> Statement:
    """Whether there is at least one row."""
    some = exp.select(exp.Literal.number(1)).from_(table(relation)).limit(1)
    return statement(exp.select(exp.Exists(this=some)))


def lock_exclusively(relations: Sequence[Relation]) -> tuple[Statement, ...]:
    """ACCESS EXCLUSIVE on each, in the order given."""
    return tuple(statement(LockTable(this=table(item), mode="ACCESS EXCLUSIVE")) for item in relations)


def keep_others_out(relations: Sequence[Relation]) -> tuple[Statement, ...]:
    """SHARE UPDATE EXCLUSIVE on each: it waits for vacuum and for those who alter, and neither reader nor writer."""
    return tuple(statement(LockTable(this=table(item), mode="SHARE UPDATE EXCLUSIVE")) for item in relations)


_VIEWS = """
SELECT DISTINCT r.ev_class::bigint FROM pg_catalog.pg_depend d
JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_catalog.pg_rewrite'::regclass
WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = %(oid)s::bigint::oid AND r.ev_class <> d.refobjid
ORDER BY 1
"""


def views_of(oid: int) -> Statement:
    """The oids of the views that read a table, in order; no lock is taken."""
    return Statement(_VIEWS, {"oid": oid})


_UNCHECKED = """
SELECT n.nspname, c.relname, k.conname FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND NOT k.convalidated AND k.conparentid = 0 AND k.confrelid = %(oid)s::bigint::oid
  AND (%(dependents)s OR k.conrelid = k.confrelid)
ORDER BY 1, 2, 3
"""


def unchecked_keys(oid: int, *, dependents: bool) -> Statement:
    """Rows (schema, table, key) of foreign keys to a table that hold for new rows only; its own, or of others too."""
    return Statement(_UNCHECKED, {"oid": oid, "dependents": dependents})


def rename_all(renames: Sequence[Rename]) -> Statement:
    """All of them in one round trip: readers wait meanwhile."""
    return Statement(";\n".join(rename(item).sql for item in renames))


def rename(item: Rename) -> Statement:
    """One of them."""
    if item.kind == "CONSTRAINT":
        return statement(RenameConstraint(this=table(item.relation), old=quoted(item.old), new=quoted(item.new)))
    return statement(RenameThing(this=table(item.relation), kind=item.kind, new=quoted(item.new)))


def is_known(relation: Relation) -> Statement:
    """Whether the planner has statistics of a table."""
    return Statement(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_stats WHERE schemaname = %(schema)s AND tablename = %(name)s)",
        {"schema": relation.schema, "name": relation.name},
    )


def analyze(relation: Relation) -> Statement:
    """ANALYZE; readers and writers go on."""
    return statement(exp.Analyze(tables=[table(relation)]))


def drop_table(relation: Relation) -> Statement:
    """DROP TABLE, never with CASCADE: what hangs on it keeps it."""
    return statement(exp.Drop(tables=[table(relation)], kind="TABLE"))


def called_now(oid: int) -> Statement:
    """Schema and name of a table by its oid; no row when it is gone."""
    return Statement(
        "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %(oid)s::bigint::oid",
        {"oid": oid},
    )

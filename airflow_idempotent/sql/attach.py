"""Replacing the child table of a partition: built aside, then exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from sqlglot import exp

from airflow_idempotent.core.actions import ReplacePartition
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.create import SHORT_WAIT, create_like
from airflow_idempotent.sql.dialects.postgres import AttachPartition, DetachPartition
from airflow_idempotent.sql.statement import Statement, column, quoted, statement, table

BOUNDS = "idem_bounds"
"""A constraint that says what the bounds of the partition say, so that attaching need not look at the rows."""


def child_for(action: ReplacePartition, target: TableShape) -> Statement:
    """The child for exactly this partition: (schema, name, kind, options); no row when there is none."""
    start, end = action.partition.bounds(target[action.column].data_type)
    return child_of_range(action.target, start, end)


def child_of_range(parent: Relation, start: date | datetime, end: date | datetime) -> Statement:
    """The child of exactly this range: (schema, name, kind, options); no row when there is none."""
    return Statement(_CHILD, {**_named(parent), "start": start, "end": end})


def losses(action: ReplacePartition, child: Relation, aside: Relation) -> Statement:
    """What would be lost with the child, one line each; ``aside`` is the table that would take its place."""
    named = {"child_schema": child.schema, "child": child.name, "aside": aside.name}
    return Statement(_LOSSES, {**_named(action.target), **named})


def build_aside(
    action: ReplacePartition, target: TableShape, child: Relation, options: Sequence[str] = ()
) -> tuple[Statement, Statement]:
    """An empty table like the others, without its indexes, and the bounds it will have as a constraint."""
    with_options = [
        exp.Property(this=exp.var(name), value=exp.Literal.string(value))
        for name, _, value in (option.partition("=") for option in options)
    ]
    create = create_like(action.target, action.aside(child), *with_options, excluded=("IDENTITY", "INDEXES"))
    start, end = _bounds(action, target)
    by = column(action.column)
    inside = exp.and_(
        exp.not_(by.is_(exp.null())), exp.GTE(this=by, expression=start), exp.LT(this=by.copy(), expression=end)
    )
    check = exp.Constraint(this=quoted(BOUNDS), expressions=[exp.CheckColumnConstraint(this=inside)])
    return create, _alter(action.aside(child), exp.AddConstraint(expressions=[check]))


def fill_aside(action: ReplacePartition, child: Relation) -> Statement:
    """All rows of the batch, in the order in which they lie there: that of keys once it is deduplicated."""
    names = [column(name) for name in action.columns]
    into = exp.Schema(this=table(action.aside(child)), expressions=[quoted(name) for name in action.columns])
    return statement(exp.Insert(this=into, expression=exp.select(*names).from_(table(action.source))))


def index_aside(action: ReplacePartition, target: TableShape, child: Relation) -> tuple[Statement, ...]:
    """The indexes and keys of the table, for rows that are there: one pass each, not one search per row.

    PostgreSQL makes them itself for a table that is attached. That would be done while readers wait, so it is attached
    to a parent of the same make first, which nobody knows.
    """
    start, end = _bounds(action, target)
    aside, parent = table(action.aside(child)), action.parent(child)
    by = exp.PartitionedByProperty(this=exp.Anonymous(this="RANGE", expressions=[quoted(action.column)]))
    return (
        create_like(action.target, parent, by, excluded=("IDENTITY",)),
        statement(AttachPartition(this=table(parent), child=aside, start=start, end=end)),
        statement(DetachPartition(this=table(parent), child=aside.copy())),
        statement(exp.Drop(tables=[table(parent)], kind="TABLE")),
    )


def exchange(action: ReplacePartition, target: TableShape, child: Relation) -> tuple[Statement, ...]:
    """One child for the other. Readers wait for the end of the transaction from here on, so it does not wait long."""
    start, end = _bounds(action, target)
    aside = action.aside(child)
    return (
        SHORT_WAIT,
        statement(DetachPartition(this=table(action.target), child=table(child))),
        statement(AttachPartition(this=table(action.target), child=table(aside), start=start, end=end)),
        _alter(aside, exp.Drop(tables=[exp.table_(BOUNDS, quoted=True)], kind="CONSTRAINT")),
        statement(exp.Drop(tables=[table(child)], kind="TABLE")),
        _alter(aside, exp.AlterRename(this=exp.table_(child.name, quoted=True))),
    )


def replace_partition(action: ReplacePartition, target: TableShape) -> tuple[Statement, ...]:
    """All of it, for a child of the name that we give."""
    child = action.child
    built = build_aside(action, target, child)
    return (
        *built,
        losses(action, child, action.aside(child)),
        fill_aside(action, child),
        *index_aside(action, target, child),
        *exchange(action, target, child),
    )


def _bounds(action: ReplacePartition, target: TableShape) -> list[exp.Expr]:
    by = target[action.column].data_type
    return [exp.Literal.string(bound.isoformat()) for bound in action.partition.bounds(by)]


def _alter(relation: Relation, change: exp.Expr) -> Statement:
    return statement(exp.Alter(this=table(relation), kind="TABLE", actions=[change]))


def _named(target: Relation) -> dict[str, str]:
    return {"schema": target.schema, "name": target.name}


_CHILD = """
SELECT cn.nspname, c.relname, c.relkind::text, coalesce(c.reloptions, '{}')
FROM pg_catalog.pg_class p
JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
JOIN pg_catalog.pg_namespace cn ON cn.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND p.relname = %(name)s
  AND pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES FROM (%%L) TO (%%L)', %(start)s, %(end)s)
"""

_LOSSES = """
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
ORDER BY 1
"""

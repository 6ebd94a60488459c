"""Making targets: the table, its schema, and the child tables of a table PARTITION BY RANGE."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.actions import (
    AddColumns,
    CreateLike,
    CreateTarget,
    DropColumns,
    EnsureChild,
    EnsureIndex,
    WidenColumns,
)
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.dialects.postgres import AttachPartition
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table

# Readers queue behind an ALTER TABLE that waits: it must not wait for long, nor longer than lock_timeout says.
SHORT_WAIT = Statement(
    "SELECT set_config('lock_timeout', least(nullif(setting::int, 0), 2000) || 'ms', true) "
    "FROM pg_catalog.pg_settings WHERE name = 'lock_timeout'"
)


def create_target(action: CreateTarget) -> tuple[Statement, ...]:
    """CREATE SCHEMA and CREATE TABLE, both IF NOT EXISTS."""
    schema = exp.Create(kind="SCHEMA", this=exp.table_("", db=quoted(action.target.schema)), exists=True)
    definitions: list[exp.Expr] = []
    for item in action.columns:
        constraints = [] if item.nullable else [exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())]
        definitions.append(
            exp.ColumnDef(this=quoted(item.name), kind=data_type(item.data_type), constraints=constraints)
        )
    if action.unique_key:
        definitions.append(exp.PrimaryKey(expressions=[quoted(name) for name in action.unique_key]))
    properties: list[exp.Expr] = []
    if action.partition_column:
        columns = exp.Schema(expressions=[quoted(action.partition_column)])
        properties.append(exp.PartitionedByProperty(this=exp.Anonymous(this="RANGE", expressions=columns.expressions)))
    elif action.fillfactor < 100:
        properties.append(exp.Property(this=exp.var("fillfactor"), value=exp.Literal.number(action.fillfactor)))
    create = exp.Create(
        kind="TABLE",
        this=exp.Schema(this=table(action.target), expressions=definitions),
        exists=True,
        properties=exp.Properties(expressions=properties) if properties else None,
    )
    return statement(schema), statement(create)


def create_as(action: CreateLike) -> tuple[Statement, ...]:
    """CREATE TABLE with all that the other one has, then the search for what its rows need not have yet."""
    properties: list[exp.Expr] = []
    if action.partition_column:
        by = exp.Anonymous(this="RANGE", expressions=[quoted(action.partition_column)])
        properties.append(exp.PartitionedByProperty(this=by))
    elif action.fillfactor < 100:
        properties.append(exp.Property(this=exp.var("fillfactor"), value=exp.Literal.number(action.fillfactor)))
    return create_like(action.like, action.target, *properties), secondary_indexes(action.target)


def secondary_indexes(relation: Relation) -> Statement:
    """The indexes of a table that keep nothing unique: (schema, name)."""
    return Statement(
        """
SELECT n.nspname, i.relname
FROM pg_catalog.pg_index x
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND NOT x.indisunique
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = x.indexrelid)
ORDER BY 2
""",
        {"schema": relation.schema, "name": relation.name},
    )


def drop_index(relation: Relation) -> Statement:
    """DROP INDEX."""
    return statement(exp.Drop(tables=[table(relation)], kind="INDEX"))


def add_columns(action: AddColumns) -> tuple[Statement, ...]:
    """ALTER TABLE ADD COLUMN IF NOT EXISTS, one statement each."""
    defaults = dict(action.defaults)
    found = [SHORT_WAIT]
    for item in action.columns:
        constraints: list[exp.Expr] = []
        if item.name in defaults:
            default = exp.DefaultColumnConstraint(this=exp.var(defaults[item.name]))
            constraints.append(exp.ColumnConstraint(kind=default))
        if not item.nullable:
            constraints.append(exp.ColumnConstraint(kind=exp.NotNullColumnConstraint()))
        kind = data_type(item.data_type)
        added = exp.ColumnDef(this=quoted(item.name), kind=kind, constraints=constraints, exists=True)
        found.append(_alter(action.target, added))
    return tuple(found)


def drop_columns(action: DropColumns) -> tuple[Statement, ...]:
    """ALTER TABLE DROP COLUMN IF EXISTS, one statement each."""
    dropped = (exp.Drop(tables=[column(name)], kind="COLUMN", exists=True) for name in action.columns)
    return (SHORT_WAIT, *(_alter(action.target, item) for item in dropped))


def widen_columns(action: WidenColumns) -> tuple[Statement, ...]:
    """ALTER TABLE ALTER COLUMN TYPE, one statement each."""
    changed = (exp.AlterColumn(this=column(item.name), dtype=data_type(item.new)) for item in action.columns)
    return (SHORT_WAIT, *(_alter(action.target, item) for item in changed))


def _alter(target: Relation, change: exp.Expr) -> Statement:
    return statement(exp.Alter(this=table(target), kind="TABLE", actions=[change]))


def ensure_index(action: EnsureIndex) -> Statement:
    """CREATE INDEX IF NOT EXISTS, in the order of bytes whatever the collation of the database."""
    byte_order = exp.to_identifier("C", quoted=True)
    keys = [exp.Ordered(this=exp.Collate(this=column(name), expression=byte_order.copy())) for name in action.columns]
    params = exp.IndexParameters(columns=keys)
    index = exp.Index(this=quoted(action.name), table=table(action.target), params=params)
    return statement(exp.Create(this=index, kind="INDEX", exists=True))


def ensure_child(action: EnsureChild) -> tuple[Statement, ...]:
    """Build the child aside and attach it: SHARE UPDATE EXCLUSIVE on the parent, readers go on.

    Only those of a DEFAULT child wait, shortly. A table that happens to have the child's name is never
    attached: the first statement fails. An identity stays with the parent, or PostgreSQL 17 would refuse to attach.
    """
    bounds = [exp.Literal.string(bound.isoformat()) for bound in action.partition.bounds(action.column.data_type)]
    words = (("INCLUDING", "ALL"), ("EXCLUDING", "IDENTITY"))
    options = [exp.Property(this=word, value=exp.var(what)) for word, what in words]
    like = exp.LikeProperty(this=table(action.target), expressions=options)
    fill = exp.Property(this=exp.var("fillfactor"), value=exp.Literal.number(action.fillfactor))
    create = exp.Create(
        kind="TABLE",
        this=exp.Schema(this=table(action.child), expressions=[like]),
        properties=exp.Properties(expressions=[fill]) if action.fillfactor < 100 else None,
    )
    attach = AttachPartition(this=table(action.target), child=table(action.child), start=bounds[0], end=bounds[1])
    return statement(create), SHORT_WAIT, statement(attach)


def child_of(action: EnsureChild) -> Statement:
    """Whether the table has a child for exactly this partition, by whatever name: one row when it has."""
    start, end = action.partition.bounds(action.column.data_type)
    return Statement(
        """
SELECT c.relname
FROM pg_catalog.pg_class p
JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
WHERE n.nspname = %(schema)s AND p.relname = %(name)s
  AND pg_get_expr(c.relpartbound, c.oid) = format('FOR VALUES FROM (%%L) TO (%%L)', %(start)s, %(end)s)
""",
        {"schema": action.target.schema, "name": action.target.name, "start": start, "end": end},
    )


def create_like(model: Relation, made: Relation, *properties: exp.Expr, excluded: Sequence[str] = ()) -> Statement:
    """CREATE TABLE as another one is, but for what is excluded."""
    words = (("INCLUDING", "ALL"), *(("EXCLUDING", what) for what in excluded))
    options = [exp.Property(this=word, value=exp.var(what)) for word, what in words]
    schema = exp.Schema(this=table(made), expressions=[exp.LikeProperty(this=table(model), expressions=options)])
    with_ = exp.Properties(expressions=list(properties)) if properties else None
    return statement(exp.Create(kind="TABLE", this=schema, properties=with_))


def sql_name(relation: Relation) -> str:
    """The quoted name as text, for functions like ``to_regclass``."""
    return statement(table(relation)).sql

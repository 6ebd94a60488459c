"""Making targets: the table, its schema, and the child tables of a table PARTITION BY RANGE."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.actions import CreateTarget, EnsureChild
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.dialects.postgres import AttachPartition
from airflow_idempotent.sql.statement import Statement, data_type, quoted, statement, table


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


def ensure_child(action: EnsureChild) -> tuple[Statement, ...]:
    """Build the child aside and attach it: SHARE UPDATE EXCLUSIVE on the parent, readers go on."""
    bounds = [exp.Literal.string(bound.isoformat()) for bound in action.partition.bounds(action.column.data_type)]
    like = exp.LikeProperty(
        this=table(action.target), expressions=[exp.Property(this="INCLUDING", value=exp.var("ALL"))]
    )
    create = exp.Create(kind="TABLE", this=exp.Schema(this=table(action.child), expressions=[like]), exists=True)
    attach = AttachPartition(this=table(action.target), child=table(action.child), start=bounds[0], end=bounds[1])
    return statement(create), statement(attach)


def is_child(child: Relation, parent: Relation) -> Statement:
    """Whether a table is attached to its parent already: one row when it is."""
    return Statement(
        "SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(%(child)s) AND inhparent = to_regclass(%(parent)s)",
        {"child": sql_name(child), "parent": sql_name(parent)},
    )


def sql_name(relation: Relation) -> str:
    """The quoted name as text, for functions like ``to_regclass``."""
    return statement(table(relation)).sql

"""The side table of a change stream: which keys were deleted, and at which version."""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from airflow_idempotent.core.actions.changes import EnsureTombstones
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table

DELETED_AT = "idem_deleted_at"
"""Not plainly ``deleted_at``: a key or a version may be called so."""

TOMBSTONES = Statement(r"""
SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'airflow_idempotent' AND c.relkind = 'r' AND c.relname LIKE 'tombstones\_%' ORDER BY 1
""")
"""All such tables: (name)."""

FORGOTTEN_AT_ONCE = 100_000
"""Tombstones that one load forgets at most, so that its time stays bounded."""


def ensure_tombstones(action: EnsureTombstones) -> tuple[Statement, ...]:
    """Key and version typed as in the target, collations and all; when the deletion was written; whose table it is."""
    names = (*action.unique_key, *action.version)
    now = exp.cast(exp.null(), data_type("timestamptz"))
    rows = exp.select(*(column(name) for name in dict.fromkeys(names)), exp.alias_(now, DELETED_AT, quoted=True))
    rows = rows.from_(table(action.target))
    properties = exp.Properties(expressions=[exp.WithDataProperty(no=True)])
    create = exp.Create(kind="TABLE", this=table(action.tombstones), expression=rows, properties=properties)
    key = exp.PrimaryKey(expressions=[quoted(name) for name in action.unique_key])
    default = exp.AlterColumn(this=quoted(DELETED_AT), default=exp.CurrentTimestamp())
    text = f"Tombstones of {action.target}: keys deleted by its change stream. See docs/how-to/cdc.md."
    comment = exp.Comment(this=table(action.tombstones), kind="TABLE", expression=exp.Literal.string(text))
    found = [
        statement(create),
        statement(_alter(action.tombstones, exp.AddConstraint(expressions=[key]))),
        statement(_alter(action.tombstones, default)),
        statement(comment),
    ]
    if action.expires:
        params = exp.IndexParameters(columns=[exp.Ordered(this=column(DELETED_AT))])
        index = exp.Index(table=table(action.tombstones), params=params)
        found.append(statement(exp.Create(kind="INDEX", this=index)))
    return tuple(found)


def retype_tombstones(action: EnsureTombstones, target: TableShape, tombstones: TableShape) -> tuple[Statement, ...]:
    """Follow the target where the type of a column has changed since."""
    names = dict.fromkeys((*action.unique_key, *action.version))
    changed = [name for name in names if target[name].data_type != tombstones[name].data_type]
    alters = (exp.AlterColumn(this=quoted(name), dtype=data_type(target[name].data_type)) for name in changed)
    return tuple(statement(_alter(action.tombstones, alter)) for alter in alters)


def take_over_tombstones(action: EnsureTombstones, before: Relation) -> Statement:
    """All that another table of tombstones remembers, with when it was written."""
    names = [*dict.fromkeys((*action.unique_key, *action.version)), DELETED_AT]
    into = exp.Schema(this=table(action.tombstones), expressions=[quoted(name) for name in names])
    rows = exp.select(*(column(name) for name in names)).from_(table(before))
    return statement(exp.Insert(this=into, expression=rows))


def forget_tombstones(tombstones: Relation, ttl: timedelta) -> Statement:
    """Delete those written longer ago than ``ttl`` by the database's clock, so many of them at most."""
    old = exp.LT(
        this=column(DELETED_AT, "d"),
        expression=exp.Sub(this=exp.CurrentTimestamp(), expression=exp.Placeholder(this="ttl")),
    )
    found = exp.select(column("ctid", "d")).from_(table(tombstones, "d")).where(old).limit(FORGOTTEN_AT_ONCE)
    places = exp.Paren(this=exp.func("ARRAY", found))
    delete = exp.Delete(this=table(tombstones)).where(exp.EQ(this=column("ctid"), expression=exp.Any(this=places)))
    return statement(delete, ttl=ttl)


def _alter(tombstones: Relation, action: exp.Expr) -> exp.Alter:
    return exp.Alter(this=table(tombstones), kind="TABLE", actions=[action])

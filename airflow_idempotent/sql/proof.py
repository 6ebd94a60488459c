"""What a proof asks of a whole table: what is in it, and whether anybody has written."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table

MARK = Statement("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
"""The transaction that will be the next one: what it and later ones write is new."""

TERMINATE = "SELECT pg_terminate_backend(%(pid)s)"
"""End another session; by the time that it is not in pg_stat_activity any more its transaction is rolled back."""
IS_THERE = "SELECT count(*) FROM pg_stat_activity WHERE pid = %(pid)s"

_TRIGGERS = """
SELECT g.tgname
FROM pg_catalog.pg_trigger g
JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND NOT g.tgisinternal AND g.tgenabled <> 'D'
ORDER BY 1
"""


def content(target: TableShape, columns: Sequence[str]) -> Statement:
    """Rows and digest of the whole table; the digest depends neither on row order nor on settings."""
    return _counted(target.relation, [_bytes(target[name]) for name in columns])


def places(target: TableShape) -> Statement:
    """Rows, and a digest of where each lies and which transaction wrote it: equal means nobody has written."""
    return _counted(target.relation, [_text(column(name)) for name in ("tableoid", "ctid", "xmin")])


def listing(target: TableShape, columns: Sequence[str]) -> Statement:
    """Every row, as texts."""
    return statement(exp.select(*(_text(column(name)) for name in columns)).from_(table(target.relation)))


def written_since(target: TableShape, columns: Sequence[str]) -> Statement:
    """The rows that were written by the transaction bound as ``mark`` or a later one, as texts."""
    writer = exp.cast(_text(column("xmin")), data_type("bigint"))
    newer = exp.GTE(this=writer, expression=exp.Placeholder(this="mark"))
    return statement(exp.select(*(_text(column(name)) for name in columns)).from_(table(target.relation)).where(newer))


def triggers_of(relation: Relation) -> Statement:
    """The names of the enabled triggers of a table."""
    return Statement(_TRIGGERS, {"schema": relation.schema, "name": relation.name})


def create_database(name: str, *, template: str, copy_files: bool) -> Statement:
    """A new database as a copy of another, which nobody may be connected to meanwhile.

    ``copy_files`` is faster where the server need not wait for its disk, and slower where it must.
    """
    strategy = " STRATEGY file_copy" if copy_files else ""
    return Statement(f"CREATE DATABASE {_name(name)} TEMPLATE {_name(template)}{strategy}")


def drop_database(name: str) -> Statement:
    """Remove a database, and whoever is still connected to it."""
    return Statement(f"DROP DATABASE IF EXISTS {_name(name)} WITH (FORCE)")


def _counted(relation: Relation, values: Sequence[exp.Expr]) -> Statement:
    row_hash = exp.func("hash_record_extended", exp.func("ROW", *values), exp.Literal.number(0))
    total = exp.func("coalesce", exp.Sum(this=row_hash), exp.Literal.number(0))
    return statement(exp.select(exp.Count(this=exp.Star()), _text(total)).from_(table(relation)))


def _bytes(item: Column) -> exp.Expr:
    """A value as a text that is equal only for equal bytes, whatever collation the column has."""
    return exp.Collate(this=_text(column(item.name)), expression=quoted("C"))


def _text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, data_type("text"))


def _name(name: str) -> str:
    return quoted(name).sql(dialect="postgres")

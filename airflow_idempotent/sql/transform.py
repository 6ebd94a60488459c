"""Staging filled by a query of the user, inside the warehouse."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.actions import QueryBatch
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.dialects.postgres import Verbatim, Warehouse
from airflow_idempotent.sql.statement import Statement, column, doubled, quoted, table
from airflow_idempotent.sql.user_query import text_of, tokens_of

# A savepoint's READ ONLY ends with it, and forbids all writing but that to temporary tables.
ONLY_READ = (Statement("SAVEPOINT idem_query"), Statement("SET TRANSACTION READ ONLY"))
WRITE_AGAIN = Statement("RELEASE SAVEPOINT idem_query")


def query_batch(action: QueryBatch) -> Statement:
    """INSERT INTO staging (columns) SELECT columns FROM (the query, word for word), its binds bound.

    Raises:
        QueryTextError: the text is not one query that only reads.
    """
    insert = exp.Insert(
        this=exp.Schema(this=table(action.staging), expressions=[quoted(name) for name in action.columns]),
        expression=exp.select(*(column(name, "q") for name in action.columns)).from_(_rows(action)),
    )
    return _sent(insert, action)


def result_types(action: QueryBatch) -> Statement:
    """One row: the type of each column of the query's result. The query is planned, but does not run."""
    no_row = exp.select(exp.alias_(exp.Literal.number(1), "one", quoted=True)).subquery(quoted("nothing"))
    types = (exp.cast(exp.func("pg_typeof", column(name, "q")), "text") for name in action.columns)
    return _sent(exp.select(*types).from_(no_row).join(_rows(action), on=exp.false(), join_type="left"), action)


def lost_in(query_type: str, data_type: str) -> str:
    """What PostgreSQL would silently drop when it writes one type into the other; empty when nothing."""
    whole = data_type in ("smallint", "integer", "bigint")
    if whole and query_type in ("numeric", "real", "double precision"):
        return "decimal places"
    if data_type == "date" and query_type.startswith("timestamp"):
        return "the time of day"
    if data_type.startswith("timestamp") and "without" in data_type and query_type == "timestamp with time zone":
        return "the time zone"
    return ""


def losses(action: QueryBatch, types: tuple[str, ...], target: TableShape) -> tuple[str, ...]:
    """Columns of the query that would lose something on their way into the table, in words."""
    found = zip(action.columns, types, target.select(action.columns), strict=True)
    return tuple(
        f"column {name!r} of the query is {query_type}, of the target {item.data_type}: {lost} would be lost, "
        f"write a cast in the query if that is meant"
        for name, query_type, item in found
        if (lost := lost_in(query_type, item.data_type))
    )


def line_in_query(action: QueryBatch, line: int) -> int | None:
    """The line of the user's SQL that stands on that line of the statement; None for the line of our own words."""
    return tokens_of(action.query)[0].line + line - 2 if line > 1 else None


def _text(action: QueryBatch) -> str:
    return text_of(action.query, lambda name: f"%({name})s", escape=doubled if action.binds else str)


def _rows(action: QueryBatch) -> exp.Subquery:
    return exp.Subquery(this=Verbatim(this=_text(action)), alias=exp.TableAlias(this=quoted("q")))


def _sent(tree: exp.Expr, action: QueryBatch) -> Statement:
    """The statement, with percent signs of names doubled where the driver looks for binds."""
    if action.binds:
        for name in tree.find_all(exp.Identifier):
            name.set("this", doubled(name.name))
    return Statement(tree.sql(dialect=Warehouse, comments=False), dict(action.binds), tree)

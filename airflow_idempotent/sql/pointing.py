"""The view by which readers get to the live version: what is asked about it, and how it is made."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from airflow_idempotent.core.inventory import Item, Kind
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.carrying import Pieces, carried, phrase, text
from airflow_idempotent.sql.dialects.postgres import Warehouse
from airflow_idempotent.sql.statement import Statement, column, quoted, table

SERVER = Statement("SELECT current_setting('server_version_num')::int")
INVOKER = "security_invoker"
INVOKER_SINCE = 150000
"""The PostgreSQL that knows views which read with the rights of who reads them."""

_VIEW = """
SELECT c.oid::bigint, pg_get_viewdef(c.oid), coalesce(c.reloptions, '{}'), ARRAY(
    SELECT DISTINCT d.refobjid::bigint FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_depend d ON d.objid = r.oid AND d.classid = 'pg_catalog.pg_rewrite'::regclass
    WHERE r.ev_class = c.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND c.relkind = 'v'
"""

_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute
WHERE attrelid = %(oid)s::bigint::oid AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
"""


def view_of(relation: Relation) -> Statement:
    """One row: oid, definition, options, the oids that it reads; none when there is no view of that name."""
    return Statement(_VIEW, {"schema": relation.schema, "name": relation.name})


def columns_of(oid: int) -> Statement:
    """Names and types of the columns of a view, in their order."""
    return Statement(_COLUMNS, {"oid": oid})


def is_plain(definition: str) -> bool:
    """Whether a view shows columns of one table as they are, and all rows."""
    try:
        query = parse_one(definition, dialect=Warehouse)
    except SqlglotError:
        return False
    clauses = {name for name, value in query.args.items() if value} - {"kind"}
    columns = (item.unalias() for item in query.expressions)
    return (
        isinstance(query, exp.Select)
        and clauses <= {"expressions", "from", "from_"}
        and all(isinstance(item, exp.Column) for item in columns)
        and all(item.alias_or_name == item.unalias().name for item in query.expressions)
    )


def make_view(
    view: Relation, over: Relation, columns: Sequence[str], options: Sequence[str] = (), *, replace: bool = True
) -> Statement:
    """CREATE VIEW that shows these columns of a table, all rows."""
    given: list[str | exp.Expr] = []
    for option in options:
        name, _, value = option.partition("=")
        given += [*([","] if given else []), quoted(name), "=", text(value)]
    with_options: Pieces = ["WITH (", *given, ")"] if given else []
    query = exp.select(*(column(name) for name in columns)).from_(table(over))
    words = "CREATE OR REPLACE VIEW" if replace else "CREATE VIEW"
    return phrase(words, table(view), *with_options, "AS", query)


def drop_view(view: Relation) -> Statement:
    """DROP VIEW, never with CASCADE."""
    return phrase("DROP VIEW", table(view))


def dressed(name: Relation, items: Sequence[Item], columns: Sequence[str], *, is_view: bool) -> tuple[Statement, ...]:
    """What gives a new view, or the table in its place, the owner, grants and comments that the name had before."""
    found: list[Statement] = []
    for item in sorted(items, key=lambda item: (item.kind is not Kind.OWNER, item.kind is Kind.COMMENT, item)):
        if item.column and item.column not in columns:
            continue
        if item.kind is Kind.COMMENT and item.facts[0] == "TABLE":
            kind = "VIEW" if is_view else "TABLE"
            found.append(phrase(f"COMMENT ON {kind}", table(name), "IS", text(item.facts[2])))
        elif item.kind is not Kind.COMMENT or item.facts[0] in ("COLUMN", "TRIGGER"):
            found += [statement for _, statement in carried(item, name, name)]
    return tuple(found)

"""Children of partitioned tables that change places: where one hangs, and how another is made fit to hang there.

Bounds, keys and constraints are run as PostgreSQL writes them from its catalogue: so all kinds of partitioning are
served.
"""

from __future__ import annotations

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.attach import BOUNDS
from airflow_idempotent.sql.carrying import phrase
from airflow_idempotent.sql.create import create_like
from airflow_idempotent.sql.statement import Statement, quoted, table

_PLACE = """
SELECT p.oid::bigint, n.nspname, p.relname, pg_get_expr(c.relpartbound, c.oid),
       coalesce(pg_get_partition_constraintdef(c.oid), ''), pg_get_partkeydef(p.oid)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
WHERE c.oid = %(oid)s::bigint::oid
"""

_KEY = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_partitioned_table t
JOIN pg_catalog.pg_class c ON c.oid = t.partrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = t.partattrs[0]
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND t.partstrat = 'r' AND t.partnatts = 1
"""


def place_of(oid: int) -> Statement:
    """One row of the parent's oid, schema and name, the bounds, the constraint they mean, and the parent's key."""
    return Statement(_PLACE, {"oid": oid})


def key_of(parent: Relation) -> Statement:
    """Name and type of the one column by whose ranges a table is partitioned; no row when it is not so."""
    return Statement(_KEY, {"schema": parent.schema, "name": parent.name})


def detach(parent: Relation, child: Relation) -> Statement:
    """ALTER TABLE … DETACH PARTITION, within a transaction; locks the parent, then the child."""
    return phrase("ALTER TABLE", table(parent), "DETACH PARTITION", table(child))


def attach(parent: Relation, child: Relation, bounds: str) -> Statement:
    """ALTER TABLE … ATTACH PARTITION."""
    return phrase("ALTER TABLE", table(parent), "ATTACH PARTITION", table(child), bounds)


def within(child: Relation, constraint: str) -> Statement:
    """A constraint that says what the bounds say: all rows are looked at now, and not when readers wait."""
    return phrase("ALTER TABLE", table(child), "ADD CONSTRAINT", quoted(BOUNDS), f"CHECK ({constraint})")


def forget_bounds(child: Relation) -> Statement:
    """Drop that constraint."""
    return phrase("ALTER TABLE", table(child), "DROP CONSTRAINT", quoted(BOUNDS))


def index_like(parent: Relation, child: Relation, helper: Relation, key: str, bounds: str) -> tuple[Statement, ...]:
    """Keys and indexes as the parent's, by PostgreSQL itself: attached for a moment to a parent that nobody knows."""
    create = create_like(parent, helper, excluded=("IDENTITY",))
    return (
        Statement(f"{create.sql} PARTITION BY {key}"),
        attach(helper, child, bounds),
        detach(helper, child),
        phrase("DROP TABLE", table(helper)),
    )

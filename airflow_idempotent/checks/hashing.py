"""Rows and keys as numbers, computed by the database: the same for equal rows, whatever their order."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.columns import TableShape

# Types that hash by value; of every other the text is hashed, since it, or something inside it, may have no hash.
HASHED = {
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "boolean",
    "text",
    "character varying",
    "character",
    "uuid",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
    "time without time zone",
    "interval",
    "bytea",
    "jsonb",
}

_NO_SIGN = (1 << 63) - 1


def row_hash(values: Sequence[exp.Expr], seed: exp.Expr | None = None) -> exp.Expr:
    """64 bits of a row, equal for rows that are equal; other ones under another seed."""
    row = exp.func("ROW", *(value.copy() for value in values))
    return exp.func("hash_record_extended", row, seed or exp.Literal.number(0))


def hashable(names: Sequence[str], target: TableShape, of: str | None = None) -> list[exp.Expr]:
    """Columns in a form that has a hash."""
    columns = [(exp.column(name, table=of, quoted=True), target[name].base_type in HASHED) for name in names]
    return [value if is_hashed else exp.cast(value, "text") for value, is_hashed in columns]


def bucket_of(key: Sequence[str], target: TableShape, buckets: int, of: str | None = None) -> exp.Expr:
    """Which of so many buckets a key belongs to, from 0 on."""
    positive = exp.BitwiseAnd(this=row_hash(hashable(key, target, of)), expression=exp.Literal.number(_NO_SIGN))
    # Not as the operator, which drivers take for the beginning of a placeholder.
    number = exp.Anonymous(this="MOD", expressions=[positive, exp.Literal.number(buckets)])
    return exp.cast(number, "int")

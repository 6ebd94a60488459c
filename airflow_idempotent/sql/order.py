"""The total order of the rows of one key: version first, NULL lowest, then the row's content.

The same order decides inside a batch (a sort) and between batch and target (a comparison), so that
any order of batches ends in the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.sql.statement import column, data_type

# Types whose values are equal only when their bytes are, and that have a default order.
_EXACT = (
    "smallint",
    "integer",
    "bigint",
    "boolean",
    "oid",
    "date",
    "uuid",
    "bytea",
    "timestamp",
    "time without time zone",
)
_TEXT = ("text", "character varying", "character(", "varchar", "char(")


def best_first(
    source: str, *, key: Sequence[str], version: Sequence[str], columns: Sequence[str], target: TableShape
) -> list[exp.Expr]:
    """Sort terms under which the first row of each key is the one that wins.

    Content sorts with NULL first, as ``record_gt`` compares it.
    """
    terms: list[exp.Expr] = [exp.Ordered(this=column(name, source), nulls_first=False) for name in key]
    terms += [exp.Ordered(this=column(name, source), desc=True, nulls_first=False) for name in version]
    content = [content_of(target[name], source) for name in payload(columns, key, version)]
    return [*terms, *(exp.Ordered(this=value, desc=True, nulls_first=True) for value in content)]


def payload(columns: Sequence[str], key: Sequence[str], version: Sequence[str]) -> list[str]:
    """The columns that are neither key nor version: the content that breaks ties."""
    return [name for name in columns if name not in key and name not in version]


def content_of(item: Column, source: str) -> exp.Expr:
    """A column as an expression that is equal only for equal bytes, and ordered whatever the type and locale."""
    value: exp.Expr = column(item.name, source)
    is_array = item.data_type.endswith("]")
    if not is_array and (item.data_type.startswith(_EXACT) or item.scale is not None):
        return value
    if is_array or not item.data_type.startswith(_TEXT):
        value = exp.cast(value, data_type("text"))
    return exp.Collate(this=value, expression=exp.to_identifier("C", quoted=True))


def greater_content(left: str, right: str, names: Sequence[str], target: TableShape) -> exp.Expr:
    """Whether the content of row ``left`` is greater, compared column by column; NULL is greatest."""
    rows = [exp.func("ROW", *(content_of(target[name], alias) for name in names)) for alias in (left, right)]
    return exp.func("record_gt", *rows)


def same_content(left: str, right: str, names: Sequence[str], target: TableShape) -> exp.Expr:
    """Whether two rows have the same content, NULLs and all."""
    pairs = [(content_of(target[name], left), content_of(target[name], right)) for name in names]
    return exp.and_(*(exp.NullSafeEQ(this=ours, expression=theirs) for ours, theirs in pairs)) if pairs else exp.true()

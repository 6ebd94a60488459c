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
_EXACT = {
    "smallint",
    "integer",
    "bigint",
    "boolean",
    "oid",
    "date",
    "uuid",
    "bytea",
    "timestamp without time zone",
    "timestamp with time zone",
    "time without time zone",
}
_TEXT = {"text", "character varying", "character", "varchar", "char"}


def best_first(
    source: str,
    *,
    key: Sequence[str],
    version: Sequence[str],
    columns: Sequence[str],
    target: TableShape,
    least: bool = False,
) -> list[exp.Expr]:
    """Sort terms under which the first row of each key is the one that wins: the greatest, or the ``least``.

    Content sorts with NULL as the greatest, as ``record_gt`` compares it.
    """
    terms: list[exp.Expr] = [exp.Ordered(this=column(name, source), nulls_first=False) for name in key]
    terms += [exp.Ordered(this=column(name, source), desc=not least, nulls_first=least) for name in version]
    content = [content_of(target[name], source) for name in payload(columns, key, version, target)]
    return [*terms, *(exp.Ordered(this=value, desc=not least, nulls_first=not least) for value in content)]


def payload(columns: Sequence[str], key: Sequence[str], version: Sequence[str], target: TableShape) -> list[str]:
    """The columns that break ties: all of which two rows of equal key and version may differ.

    Keys and versions are among them when equal values can be written otherwise, as ``1.0`` and ``1.00``.
    """
    equal = {name for name in (*key, *version) if is_exact(target[name])}
    return [name for name in columns if name not in equal]


def is_exact(item: Column) -> bool:
    """Whether two equal values of the column are equal byte by byte."""
    return item.base_type in _EXACT or item.scale is not None or (item.base_type in _TEXT and item.deterministic)


def content_of(item: Column, source: str) -> exp.Expr:
    """A column as an expression that is equal only for equal bytes, and ordered whatever the type."""
    value: exp.Expr = column(item.name, source)
    if is_exact(item):  # as it is: an expression would be sorted along as one more column
        return value
    if item.base_type not in _TEXT:
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

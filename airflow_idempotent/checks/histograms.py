"""Histograms of columns: one scan of the rows for a sample, then everything is counted in the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from airflow_idempotent.checks.hashing import hashable, row_hash
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.profile import MOST_CATEGORIES, Profile, Sampling, is_measured, is_number

_FLOATS = exp.DataType.build("double precision[]", dialect="postgres")
_TEXTS = exp.DataType.build("text[]", dialect="postgres")
_LONGEST = 64
_SHARES = [number / 100 for number in range(100)]
Rows = exp.Table | exp.Subquery
Asked = tuple[exp.Query, dict[str, Any]]
"""A query, and the values of its placeholders."""


def profile_rows(rows: Rows, columns: Sequence[Column], target: TableShape, sampling: Sampling, total: int) -> Asked:
    """Rows of (column, what, bin, count) in bins that hold a hundredth each, or of the most frequent values.

    ``total`` is how many rows there are.
    """
    tree = _union([part for number, item in enumerate(columns) for part in _own_bins(number, item)])
    binds: dict[str, Any] = {"seed": sampling.seed, "most": sampling.most(total)}
    tree.with_(_name("sample"), as_=_sample(rows, columns, target, sampling), materialized=True, copy=False)
    if measured := [number for number, item in enumerate(columns) if is_measured(item)]:
        tree.with_(_name("edges"), as_=_edges(measured), materialized=True, copy=False)
        binds["shares"] = _SHARES
    return tree, binds


def count_in_bins(
    rows: Rows, columns: Sequence[Column], target: TableShape, sampling: Sampling, total: int, by: Profile
) -> Asked:
    """The same, in the bins of another profile; what is in none of them has no bin."""
    tree = _union([part for number, item in enumerate(columns) for part in _given_bins(number, item)])
    tree.with_(_name("sample"), as_=_sample(rows, columns, target, sampling), materialized=True, copy=False)
    bins = {f"bins{number}": list(by.columns[item.name].bins) for number, item in enumerate(columns)}
    return tree, {"seed": sampling.seed, "most": sampling.most(total), **bins}


def _sample(rows: Rows, columns: Sequence[Column], target: TableShape, sampling: Sampling) -> exp.Select:
    """The rows of the sample, each column as it is counted."""
    key = [name for name in sampling.key or target.names if name in target]
    hashed = row_hash(hashable(key, target), exp.cast(exp.Placeholder(this="seed"), "bigint"))
    low = exp.LTE(this=hashed, expression=exp.cast(exp.Placeholder(this="most"), "bigint"))
    values = [exp.alias_(_value(item), f"c{number}", quoted=True) for number, item in enumerate(columns)]
    return exp.select(*values).from_(rows.copy()).where(low)


def _value(item: Column) -> exp.Expr:
    if not is_measured(item):
        text = exp.cast(_column(item.name), "text")
        return exp.func("left", text, exp.Literal.number(_LONGEST))
    value: exp.Expr = _column(item.name)
    if not is_number(item):
        value = exp.Extract(this=exp.var("epoch"), expression=value)
    return exp.cast(value, "double precision")


def _edges(measured: Sequence[int]) -> exp.Select:
    """One row: for each column on a scale the values below which lie 0, 1, 2 … 99 hundredths of the sample."""
    found = []
    for number in measured:
        shares = exp.cast(exp.Placeholder(this="shares"), _FLOATS)
        order = exp.Order(expressions=[exp.Ordered(this=_column(f"c{number}"), nulls_first=False)])
        values = exp.WithinGroup(this=exp.PercentileDisc(this=shares), expression=order)
        found.append(exp.alias_(values, f"c{number}", quoted=True))
    return exp.select(*found).from_(_table("sample"))


def _own_bins(number: int, item: Column) -> list[exp.Select]:
    if is_measured(item):
        edges = _column(f"c{number}", "edges")
        counted = _counted(number, item, _edge_below(number, edges))
        return [*_totals(number, item), counted.join(_table("edges"), join_type="cross")]
    text = _column(f"c{number}", "sample")
    often = _counted(number, item, text)
    order = [
        exp.Ordered(this=exp.Count(this=exp.Star()), desc=True, nulls_first=False),
        exp.Ordered(this=exp.Collate(this=text.copy(), expression=_name("C")), nulls_first=False),
    ]
    best = often.order_by(*order).limit(MOST_CATEGORIES)
    return [*_totals(number, item), exp.select(exp.Star()).from_(best.subquery(_name(f"best{number}")))]


def _given_bins(number: int, item: Column) -> list[exp.Select]:
    bins = exp.Placeholder(this=f"bins{number}")
    if is_measured(item):
        label = _edge_below(number, exp.cast(bins, _FLOATS))
        return [*_totals(number, item), _counted(number, item, label)]
    text = _column(f"c{number}", "sample")
    known = exp.EQ(this=text, expression=exp.Any(this=exp.Paren(this=exp.cast(bins, _TEXTS))))
    return [*_totals(number, item), _counted(number, item, exp.case().when(known, text.copy()))]


def _edge_below(number: int, edges: exp.Expr) -> exp.Expr:
    """The greatest edge that is not above the value; NULL below the first."""
    place = exp.func("width_bucket", _column(f"c{number}", "sample"), edges)
    return exp.Bracket(this=exp.Paren(this=edges.copy()), expressions=[place], offset=1)


def _counted(number: int, item: Column, label: exp.Expr) -> exp.Select:
    """Rows per bin. Grouped by place: a driver gives equal binds different numbers."""
    return (
        exp.select(
            _text(item.name),
            _text("bin"),
            exp.alias_(exp.cast(label, "text"), "bin", quoted=True),
            exp.alias_(exp.Count(this=exp.Star()), "rows", quoted=True),
        )
        .from_(_table("sample"))
        .where(exp.not_(_column(f"c{number}", "sample").is_(exp.null())))
        .group_by(exp.Literal.number(3))
    )


def _totals(number: int, item: Column) -> list[exp.Select]:
    """How many rows the sample has, and in how many the column is NULL."""
    nulls = exp.Filter(
        this=exp.Count(this=exp.Star()), expression=exp.Where(this=_column(f"c{number}", "sample").is_(exp.null()))
    )
    nothing = exp.cast(exp.null(), "text")
    return [
        exp.select(_text(item.name), _text(what), nothing.copy(), count).from_(_table("sample"))
        for what, count in (("rows", exp.Count(this=exp.Star())), ("nulls", nulls))
    ]


def _union(parts: Sequence[exp.Select]) -> Any:
    found: Any = parts[0]
    for part in parts[1:]:
        found = exp.Union(this=found, expression=part, distinct=False)
    return found


def _table(name: str) -> exp.Table:
    """What WITH names."""
    return exp.table_(name, quoted=True)


def _column(name: str, of: str | None = None) -> exp.Column:
    return exp.column(name, table=of, quoted=True)


def _name(text: str) -> exp.Identifier:
    return exp.to_identifier(text, quoted=True)


def _text(value: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(value), "text")

"""What the parts of an expression are used for, and which parts of a query decide over its rows."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from airflow_idempotent.core.lineage import Use

_PICKING = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
"""Called aggregates by the parser, but what they give is one of the values."""

_DECIDING = (
    ("where", Use.FILTER),
    ("having", Use.FILTER),
    ("group", Use.GROUP_BY),
    ("distinct", Use.GROUP_BY),
    ("order", Use.SORT),
)


def parts(node: exp.Expr, use: Use) -> Iterator[tuple[exp.Expr, Use]]:
    """The columns and subqueries of an expression that is used so, and what each of them is used for."""
    if isinstance(node, exp.Column) or (isinstance(node, exp.Query) and not isinstance(node, exp.Subquery)):
        yield node, use
        return
    for key, values in node.args.items():
        below = _of_argument(node, key, use)
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, exp.Expr):
                yield from parts(value, below)


def deciding(select: exp.Expr) -> Iterator[tuple[exp.Expr, Use]]:
    """The expressions that decide which rows a SELECT has, or in which order they come."""
    for name, use in _DECIDING:
        node = select.args.get(name)
        if isinstance(node, exp.Distinct):
            node = node.args.get("on")
        if isinstance(node, exp.Expr):
            yield from ((item, use) for item in node.expressions or [node.this])
    for join in select.args.get("joins") or ():
        if isinstance(condition := join.args.get("on"), exp.Expr):
            yield condition, Use.JOIN
        for name in join.args.get("using") or ():
            yield exp.Column(this=name), Use.JOIN


def _of_argument(node: exp.Expr, key: str, use: Use) -> Use:
    """What an argument of a node is used for, where the node itself is used so."""
    match node:
        case exp.Window():
            return use.of(Use.WINDOW) if key in ("partition_by", "order") else use
        case exp.Filter():
            return use.of(Use.CONDITIONAL) if key == "expression" else use
        case exp.If():
            return use.of(Use.CONDITIONAL) if key == "this" else use
        case exp.Case():
            return use.of(Use.CONDITIONAL if key == "this" else Use.TRANSFORMATION)
        case exp.Order():
            return use if key == "this" else use.of(Use.SORT)
        case exp.Alias() | exp.Paren() | exp.Subquery() | exp.Ordered() | exp.Where() | exp.Tuple():
            return use
        case exp.AggFunc() if not isinstance(node, _PICKING):
            return use.of(Use.AGGREGATION)
        case _:
            return use.of(Use.TRANSFORMATION)

"""Versions of several columns compared, NULL lowest."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.sql.statement import column


def columns_of(alias: str, names: Sequence[str]) -> list[exp.Column]:
    """A version: these columns of the table with that alias."""
    return [column(name, alias) for name in names]


def by_version(
    ours: Sequence[exp.Expr],
    theirs: Sequence[exp.Expr],
    *,
    newer: exp.Expr,
    older: exp.Expr,
    equal: exp.Expr,
) -> exp.Case:
    """One of three expressions, by how two versions stand to each other."""
    decided: list[tuple[exp.Expr, exp.Expr]] = []
    for mine, other in zip(ours, theirs, strict=True):
        decided.append((exp.GT(this=mine.copy(), expression=other.copy()), newer))
        decided.append((exp.LT(this=mine.copy(), expression=other.copy()), older))
        decided.append((_only_known(mine, other), newer))
        decided.append((_only_known(other, mine), older))
    return cases(decided, equal)


def newer(ours: Sequence[exp.Expr], theirs: Sequence[exp.Expr]) -> exp.Case:
    """Whether one version is greater than another; never NULL."""
    return by_version(ours, theirs, newer=exp.true(), older=exp.false(), equal=exp.false())


def cases(decided: Sequence[tuple[exp.Expr, exp.Expr]], other: exp.Expr | None = None) -> exp.Case:
    """CASE WHEN … THEN … ELSE …, put together at once: adding to one copies it every time."""
    return exp.Case(ifs=[exp.If(this=when, true=then.copy()) for when, then in decided], default=other)


def _only_known(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    missing = exp.Is(this=other.copy(), expression=exp.null())
    known = exp.Not(this=exp.Is(this=one.copy(), expression=exp.null()))
    return exp.And(this=missing, expression=known)

"""Rows that only their content could tell apart: same key, same version, in the batch or against the target."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.actions import RefuseTies
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.merge import inside_bounds, same_key, winners
from airflow_idempotent.sql.order import payload, same_content
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table

SAMPLES = 5


def tied_keys(action: RefuseTies, target: TableShape) -> tuple[Statement, Statement]:
    """Two statements, for ties in the batch and with the target: rows of (number of keys, key as texts), few rows."""
    upsert = action.upsert
    written = upsert.columns if upsert.updates is None else upsert.updates
    equal = (exp.EQ(this=column(name, "s"), expression=column(name, "w")) for name in upsert.unique_key)
    rows = exp.select(*(column(name) for name in upsert.columns)).from_(table(action.staging)).subquery(quoted("s"))
    return (
        _sampled(action, "s", rows, exp.and_(*equal), upsert.columns, target),
        _sampled(action, "t", table(action.target, "t"), same_key(upsert), written, target),
    )


def _sampled(
    action: RefuseTies, alias: str, rows: exp.Expr, on: exp.Expr, columns: tuple[str, ...], target: TableShape
) -> Statement:
    upsert = action.upsert
    content = payload(columns, upsert.unique_key, upsert.version, target)
    versions = (exp.NullSafeEQ(this=column(name, "w"), expression=column(name, alias)) for name in upsert.version)
    keys = [column(name, "w") for name in upsert.unique_key]
    other = exp.not_(exp.paren(same_content("w", alias, content, target)))
    tied = exp.select(*keys).distinct().from_(winners(upsert, target)).join(rows, on=on).where(*versions, other)
    texts = [exp.cast(column(name), data_type("text")) for name in upsert.unique_key]
    number = exp.Window(this=exp.Count(this=exp.Star()))
    sampled = exp.select(number, *texts).from_(tied.subquery(quoted("tied")))
    sampled = sampled.order_by(*(column(name) for name in upsert.unique_key)).limit(SAMPLES)
    return statement(sampled, **(inside_bounds(upsert, target) if alias == "t" else {}))

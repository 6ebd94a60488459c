"""Checks asked of rows that are there: in staging before they are published, in the target afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow_idempotent.checks import Check
from airflow_idempotent.checks.check import Rows
from airflow_idempotent.core.verdict import CheckResult, Verdict
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql.checks import count_violations, own_query, sample_violations, shared_scan


def evaluate(
    session: Session, checks: Sequence[Check], rows: Rows, binds: dict[str, Any] | None = None
) -> tuple[CheckResult, ...]:
    """Every check's verdict on the rows: one shared scan, then a query per check that needs its own.

    Over no rows only their number can be judged.
    """
    if not checks:
        return ()
    bound = binds or {}
    shared, own = shared_scan(checks, rows), own_query(checks)
    [(total, *observed)] = session.query(replace(shared, binds=bound))
    counted = iter(observed)
    results = []
    for check in checks:
        count: int | None = None
        if check.aggregate() is not None:
            count = next(counted)
        elif check in own:
            [(count,)] = session.query(replace(count_violations(check, rows), binds=bound))
        judged = check.judge(count, total) if total or check.counts_rows else check.not_evaluated("no rows")
        results.append(_with_samples(session, check, judged, rows, bound))
    return tuple(results)


def _with_samples(
    session: Session, check: Check, result: CheckResult, rows: Rows, binds: dict[str, Any]
) -> CheckResult:
    """A broken check shows a few of the values that break it, and the query that finds them."""
    statement = sample_violations(check, rows) if result.verdict in (Verdict.FAILED, Verdict.WARNED) else None
    if statement is None:
        return result
    found = session.query(replace(statement, binds=binds))
    samples = tuple("(" + ", ".join(map(_shown, row)) + ")" if len(row) > 1 else _shown(row[0]) for row in found)
    return replace(result, samples=samples, query=statement.sql)


def _shown(value: Any) -> str:
    return "NULL" if value is None else str(value)

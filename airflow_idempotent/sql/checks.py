"""Checks as SQL: everything that can share a scan shares one, the rest brings its own query."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.checks import Check
from airflow_idempotent.checks.check import Rows
from airflow_idempotent.core.actions import RunChecks
from airflow_idempotent.sql.statement import Statement, quoted, statement, table


def run_checks(action: RunChecks) -> tuple[Statement, ...]:
    """The shared scan first (rows, then one number per check that has one), then a count per other check."""
    rows = table(action.rows)
    checks = action.answerable
    return (shared_scan(checks, rows), *(count_violations(check, rows) for check in own_query(checks)))


def shared_scan(checks: Sequence[Check], rows: Rows) -> Statement:
    """One row: the number of rows, then what each check with an aggregate observed."""
    aggregates = [aggregate for check in checks if (aggregate := check.aggregate()) is not None]
    return statement(exp.select(exp.Count(this=exp.Star()), *aggregates).from_(rows.copy()))


def own_query(checks: Sequence[Check]) -> list[Check]:
    """The checks that cannot share the scan."""
    return [check for check in checks if check.aggregate() is None and check.violations(table("rows")) is not None]


def count_violations(check: Check, rows: Rows) -> Statement:
    """How many rows, or keys, break the check."""
    found = _violations(check, rows)
    return statement(exp.select(exp.Count(this=exp.Star())).from_(found.subquery(quoted("violations"))))


def sample_violations(check: Check, rows: Rows, limit: int = 5) -> Statement | None:
    """A few of the rows that break the check."""
    return statement(_violations(check, rows).limit(limit)) if check.violations(table("rows")) is not None else None


def _violations(check: Check, rows: Rows) -> exp.Select:
    found = check.violations(rows.copy())
    if found is None:
        raise ValueError(f"{check.label} does not name the rows that break it")
    return found

"""SQL that users write into checks: it must give the same verdict whenever it is asked of the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from airflow_idempotent.checks import Aggregate, Check, CustomSql
from airflow_idempotent.checks.custom_sql import THIS_MODEL
from airflow_idempotent.spec.determinism import findings
from airflow_idempotent.sql.asked import USER_BINDS
from airflow_idempotent.sql.user_query import QueryTextError, bind_places, parsed


def unrepeatable(check: Check) -> Iterator[str]:
    """What keeps a check's own SQL from giving the same verdict again."""
    if check.where:
        asked = "\n".join(("SELECT 1 AS one FROM rows WHERE (", check.where, ")"))
        yield from (f"where: {found.text}" for found in findings(asked) if not found.warning)
    if isinstance(check, Aggregate):
        asked = "\n".join(("SELECT (", check.sql, ") AS one FROM rows"))
        yield from (f"sql: {found.text}" for found in findings(asked) if not found.warning)
    if isinstance(check, CustomSql):
        try:
            yield from (f"sql: {found}" for found in findings(check.sql) if not found.warning)
            yield from _misuse(check.sql)
        except QueryTextError as error:
            yield f"sql: line {error.line}: {error}" if error.line else f"sql: {error}"


def _misuse(sql: str) -> Iterator[str]:
    """What a query of violations must do, and may ask for."""
    if THIS_MODEL not in {table.name for table in parsed(sql).find_all(exp.Table) if not table.db}:
        yield f"sql: it does not read {THIS_MODEL}, as the rows that are checked are called"
    for found in parsed(sql).find_all(exp.Placeholder, exp.Parameter):
        if not isinstance(found, exp.Placeholder) or found.name not in USER_BINDS:
            known = ", ".join(f":{name}" for name in USER_BINDS)
            yield f"sql: unknown bind :{found.name}, there are {known}"
    bind_places(sql)


def normal_text(sql: str) -> str:
    """SQL without its layout and comments; as it is where it cannot be read."""
    try:
        return sqlglot.parse_one(sql, dialect="postgres").sql("postgres", comments=False, normalize=True)
    except SqlglotError:
        return sql.strip()

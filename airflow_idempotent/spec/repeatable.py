"""SQL that users write into checks: it must give the same verdict whenever it is asked of the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot.errors import SqlglotError

from airflow_idempotent.checks import Aggregate, Check
from airflow_idempotent.spec.determinism import findings


def unrepeatable(check: Check) -> Iterator[str]:
    """What keeps a check's own SQL from giving the same verdict again."""
    if check.where:
        asked = "\n".join(("SELECT 1 AS one FROM rows WHERE (", check.where, ")"))
        yield from (f"where: {found.text}" for found in findings(asked) if not found.warning)
    if isinstance(check, Aggregate):
        asked = "\n".join(("SELECT (", check.sql, ") AS one FROM rows"))
        yield from (f"sql: {found.text}" for found in findings(asked) if not found.warning)


def normal_text(sql: str) -> str:
    """SQL without its layout and comments; as it is where it cannot be read."""
    try:
        return sqlglot.parse_one(sql, dialect="postgres").sql("postgres", comments=False, normalize=True)
    except SqlglotError:
        return sql.strip()

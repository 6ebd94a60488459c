"""custom_sql: a query of the user returns the rows that are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import Check, Inquiry, Question, Rows
from airflow_idempotent.checks.condition import UserSql
from airflow_idempotent.checks.facts import Seen

THIS_MODEL = "this_model"
"""What a query calls the rows that are checked."""


@dataclass(frozen=True, kw_only=True)
class CustomSql(Check):
    """``sql`` returns the rows that are wrong, none if all is well. It calls the rows that are checked ``this_model``.

    They are those about to be published, afterwards those of the partition. Other tables may be read, too. Binds:
    ``:start``, ``:end``, ``:key`` of the partition, ``:cutoff_ts``. What would give another answer tomorrow
    (``now()``, ``random()``, LIMIT without ORDER BY) is refused. ``name`` is what results call it.

    Raises:
        ValueError: there is no query.
    """

    kind: ClassVar[str] = "custom_sql"
    shorthand: ClassVar[str] = "sql"
    sql: str
    name: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sql.strip():
            raise ValueError("sql: write a query that returns the rows that are wrong")

    @property
    def label(self) -> str:
        words = " ".join(self.sql.split())
        return self.named(self.name or (words if len(words) <= 60 else f"{words[:59]}…"))

    def inquire(self, rows: Rows, seen: Seen) -> Inquiry:
        found = self.violations(rows).subquery(exp.to_identifier("violations", quoted=True))
        [(count,)] = yield Question(exp.select(exp.Count(this=exp.Star())).from_(found))
        return self.counted(count, f"{count:,} rows returned", seen.rows)

    def violations(self, rows: Rows) -> exp.Select:
        own = exp.Subquery(
            this=UserSql(this=self.sql, is_query=True),
            alias=exp.TableAlias(this=exp.to_identifier("found", quoted=True)),
        )
        given = exp.CTE(
            this=exp.select("*").from_(rows.copy()),
            alias=exp.TableAlias(this=exp.to_identifier(THIS_MODEL, quoted=True)),
            materialized=False,
        )
        query = exp.select("*").from_(own)
        query.set("with_", exp.With(expressions=[given]))
        return query

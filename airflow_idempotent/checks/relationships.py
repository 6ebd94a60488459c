"""relationships: every value of a column is one of another table's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from airflow_idempotent.checks.check import Check, Inquiry, Question, Rows, column
from airflow_idempotent.checks.condition import columns_in, condition
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.relation import Relation

CHILD, PARENT = "child", "parent"


@dataclass(frozen=True, kw_only=True)
class Relationships(Check):
    """Each value of ``column`` is one of ``field`` (default: the same name) in the table ``to``; NULL refers to none.

    As dbt's test of that name. ``to_where`` leaves only those rows of the other table to refer to. All of that
    table is looked at, not only a partition.

    Raises:
        ValueError: ``to`` is no name of a table, or ``to_where`` no condition.
    """

    kind: ClassVar[str] = "relationships"
    shorthand: ClassVar[str] = "column"
    column: str
    to: str
    field: str = ""
    to_where: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        Relation.parse(self.to)
        if self.to_where is not None:
            columns_in(self.to_where)

    @property
    def other(self) -> Relation:
        """The table that is referred to."""
        return Relation.parse(self.to)

    @property
    def referred(self) -> str:
        """Its column."""
        return self.field or self.column

    @property
    def label(self) -> str:
        only = f" where {' '.join(self.to_where.split())}" if self.to_where else ""
        return self.named(self.column, f"to {self.other}.{self.referred}{only}")

    @property
    def columns_used(self) -> Sequence[str]:
        return tuple(dict.fromkeys((self.column, *super().columns_used)))

    @property
    def tables_used(self) -> tuple[str, ...]:
        return (str(self.other),)

    def inquire(self, rows: Rows, seen: Seen) -> Inquiry:
        found = self.violations(rows).subquery(exp.to_identifier("violations", quoted=True))
        [(count,)] = yield Question(exp.select(exp.Count(this=exp.Star())).from_(found))
        text = f"{count:,} of {seen.rows:,} rows refer to no {self.referred} of {self.other}"
        return self.counted(count, text, seen.rows)

    def violations(self, rows: Rows) -> exp.Select:
        child = exp.select("*").from_(rows.copy()).subquery(exp.to_identifier(CHILD, quoted=True))
        value = exp.column(self.column, table=CHILD, quoted=True)
        same = exp.EQ(this=exp.column(self.referred, table=PARENT, quoted=True), expression=value)
        known = exp.select("1").from_(self._parents()).where(same)
        refers = exp.not_(value.copy().is_(exp.null()))
        return exp.select("*").from_(child).where(refers, exp.not_(exp.Exists(this=known)))

    def examples(self, facts: Facts) -> Sequence[str]:
        return tuple(dict.fromkeys((*facts.unique_key, self.column)))

    def _parents(self) -> exp.Subquery:
        table = exp.table_(self.other.name, db=self.other.schema, quoted=True)
        found = exp.select(column(self.referred)).from_(table)
        if self.to_where:
            found = found.where(condition(self.to_where))
        return found.subquery(exp.to_identifier(PARENT, quoted=True))

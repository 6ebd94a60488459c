"""What a check can compare with, as users write it: an earlier publication, the batch's own input, another table."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from airflow_idempotent.checks.check import Rows
from airflow_idempotent.checks.condition import condition
from airflow_idempotent.checks.facts import Baseline, Facts, Need
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation

EARLIER = ("previous", "same_weekday")


class NotComparable(Exception):  # noqa: N818, says why there is no verdict
    """There is nothing to compare with, or it cannot be compared; the text says what to do."""


def needed(against: str) -> frozenset[Need]:
    """What has to be looked up in the ledger for it."""
    return frozenset((Need(against),)) if against in EARLIER else frozenset()


def baseline(against: str, facts: Facts) -> Baseline | None:
    """The earlier publication that is meant; None where there is none."""
    return facts.previous if against == "previous" else facts.same_weekday


def absent(against: str) -> str:
    """Why there is no earlier publication."""
    when = "of other content" if against == "previous" else "of the same partition one to four weeks earlier"
    return f"there is no earlier publication {when} yet (backfills are none)"


def is_table(against: str) -> bool:
    """Whether another table is meant: its schema is written."""
    return "." in against


def other_table(against: str) -> str:
    """The table, as errors and the catalogue spell it.

    Raises:
        ValueError: it is no name of a table.
    """
    return str(Relation.parse(against))


def shape_of(against: str, facts: Facts) -> TableShape:
    """The other table as the catalogue describes it.

    Raises:
        NotComparable: it does not exist.
    """
    found = facts.others.get(other_table(against))
    if found is None:
        raise NotComparable(f"{other_table(against)} does not exist")
    return found


def rows_of(other: TableShape, facts: Facts, where: str | None) -> tuple[Rows, dict[str, Any]]:
    """The rows of another table that belong to the partition, and the values of its placeholders.

    All its rows where the partition has no column here.

    Raises:
        NotComparable: the other table lacks the column that says what belongs to the partition.
    """
    relation = other.relation
    found: exp.Select = exp.select("*").from_(exp.table_(relation.name, db=relation.schema, quoted=True))
    binds: dict[str, Any] = {}
    if by := facts.partition_column:
        if by not in other:
            raise NotComparable(f"{relation} has no column {by!r}, which says what belongs to the partition")
        column = exp.column(by, quoted=True)
        found = found.where(
            exp.GTE(this=column, expression=exp.Placeholder(this="other_start")),
            exp.LT(this=column.copy(), expression=exp.Placeholder(this="other_end")),
        )
        start, end = facts.partition.bounds(other[by].data_type)
        binds = {"other_start": start, "other_end": end}
    if where:
        found = found.where(condition(where))
    return found.subquery(exp.to_identifier("other_rows", quoted=True)), binds

"""Checks: one file each. A check says which rows break it, never a bare yes or no.

Adding one means one new file and one line in ``CHECKS``.
"""

from __future__ import annotations

from airflow_idempotent.checks.accepted_values import AcceptedValues
from airflow_idempotent.checks.aggregate import Aggregate
from airflow_idempotent.checks.aliases import ALIASES
from airflow_idempotent.checks.check import Check
from airflow_idempotent.checks.custom_sql import CustomSql
from airflow_idempotent.checks.diff import Diff
from airflow_idempotent.checks.distribution import Distribution
from airflow_idempotent.checks.freshness import Freshness
from airflow_idempotent.checks.no_future_knowledge import NoFutureKnowledge
from airflow_idempotent.checks.not_null import NotNull
from airflow_idempotent.checks.null_rate import NullRate
from airflow_idempotent.checks.range import Range
from airflow_idempotent.checks.reconcile import Reconcile
from airflow_idempotent.checks.relationships import Relationships
from airflow_idempotent.checks.row_count import RowCount
from airflow_idempotent.checks.statistic import Statistic
from airflow_idempotent.checks.unique import Unique

CHECKS: dict[str, type[Check]] = {
    "row_count": RowCount,
    "not_null": NotNull,
    "null_rate": NullRate,
    "unique": Unique,
    "accepted_values": AcceptedValues,
    "range": Range,
    "statistic": Statistic,
    "freshness": Freshness,
    "relationships": Relationships,
    "custom_sql": CustomSql,
    "reconcile": Reconcile,
    "aggregate": Aggregate,
    "distribution": Distribution,
    "diff": Diff,
    "no_future_knowledge": NoFutureKnowledge,
}

__all__ = [
    "ALIASES",
    "CHECKS",
    "AcceptedValues",
    "Aggregate",
    "Check",
    "CustomSql",
    "Diff",
    "Distribution",
    "Freshness",
    "NoFutureKnowledge",
    "NotNull",
    "NullRate",
    "Range",
    "Reconcile",
    "Relationships",
    "RowCount",
    "Statistic",
    "Unique",
]

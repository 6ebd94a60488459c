"""Checks: one file each. A check says which rows break it, never a bare yes or no.

Adding one means one new file and one line in ``CHECKS``.
"""

from __future__ import annotations

from airflow_idempotent.checks.aggregate import Aggregate
from airflow_idempotent.checks.check import Check
from airflow_idempotent.checks.diff import Diff
from airflow_idempotent.checks.distribution import Distribution
from airflow_idempotent.checks.no_future_knowledge import NoFutureKnowledge
from airflow_idempotent.checks.not_null import NotNull
from airflow_idempotent.checks.reconcile import Reconcile
from airflow_idempotent.checks.row_count import RowCount
from airflow_idempotent.checks.unique import Unique

CHECKS: dict[str, type[Check]] = {
    "row_count": RowCount,
    "not_null": NotNull,
    "unique": Unique,
    "reconcile": Reconcile,
    "aggregate": Aggregate,
    "distribution": Distribution,
    "diff": Diff,
    "no_future_knowledge": NoFutureKnowledge,
}
# The same checks under the names of Airflow's SQL check operators, dbt and SQLMesh.
ALIASES = {
    "count": "row_count",
    "null_check": "not_null",
    "not_null_values": "not_null",
    "unique_check": "unique",
    "unique_values": "unique",
    "unique_combination_of_columns": "unique",
}

__all__ = [
    "ALIASES",
    "CHECKS",
    "Aggregate",
    "Check",
    "Diff",
    "Distribution",
    "NoFutureKnowledge",
    "NotNull",
    "Reconcile",
    "RowCount",
    "Unique",
]

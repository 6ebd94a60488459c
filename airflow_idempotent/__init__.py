"""Load PostgreSQL tables with Airflow so that running anything again is safe.

The names of ``__all__`` are public, everything else may change. They are imported
when first used: Airflow imports this package to discover the provider, early and in
every one of its processes, and must not pay for, or trip over, the operators then.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_idempotent.dag_factory.folder import load_tables
    from airflow_idempotent.operators.deduplicate import DeduplicateTableOperator
    from airflow_idempotent.operators.land import AtomicLandOperator
    from airflow_idempotent.operators.stage_merge import StageMergeOperator
    from airflow_idempotent.operators.swap import RollbackOperator, SwapTableOperator
    from airflow_idempotent.operators.validate import ValidatePartitionOperator
    from airflow_idempotent.spec.python_source import Python
    from airflow_idempotent.spec.source import Files, Query
    from airflow_idempotent.spec.table import TableSpec
    from airflow_idempotent.spec.transform import Transform

__version__ = "0.1.0"

__all__ = [
    "AtomicLandOperator",
    "DeduplicateTableOperator",
    "Files",
    "Python",
    "Query",
    "RollbackOperator",
    "StageMergeOperator",
    "SwapTableOperator",
    "TableSpec",
    "Transform",
    "ValidatePartitionOperator",
    "__version__",
    "load_tables",
]

_HOMES = {
    "AtomicLandOperator": "airflow_idempotent.operators.land",
    "DeduplicateTableOperator": "airflow_idempotent.operators.deduplicate",
    "Files": "airflow_idempotent.spec.source",
    "Python": "airflow_idempotent.spec.python_source",
    "Query": "airflow_idempotent.spec.source",
    "RollbackOperator": "airflow_idempotent.operators.swap",
    "StageMergeOperator": "airflow_idempotent.operators.stage_merge",
    "SwapTableOperator": "airflow_idempotent.operators.swap",
    "TableSpec": "airflow_idempotent.spec.table",
    "Transform": "airflow_idempotent.spec.transform",
    "ValidatePartitionOperator": "airflow_idempotent.operators.validate",
    "load_tables": "airflow_idempotent.dag_factory.folder",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

"""The small instruction set a step is made of. A dialect compiles each action to SQL."""

from __future__ import annotations

from airflow_idempotent.core.actions.making import (
    AddColumns,
    CreateTarget,
    DropColumns,
    EnsureChild,
    EnsureIndex,
    WidenColumns,
)
from airflow_idempotent.core.actions.staging import (
    CopyBatch,
    CreateStaging,
    Deduplicate,
    InspectBatch,
    QueryBatch,
    RejectRows,
    RunChecks,
)
from airflow_idempotent.core.actions.writing import MeasurePartition, ReplaceRows, UpsertRows

Action = (
    CreateTarget
    | AddColumns
    | DropColumns
    | WidenColumns
    | EnsureChild
    | EnsureIndex
    | CreateStaging
    | CopyBatch
    | QueryBatch
    | RejectRows
    | InspectBatch
    | Deduplicate
    | RunChecks
    | UpsertRows
    | ReplaceRows
    | MeasurePartition
)

# Writes to which an older batch must have something less to say than a newer one.
Superseding = UpsertRows | ReplaceRows

__all__ = [
    "Action",
    "AddColumns",
    "CopyBatch",
    "CreateStaging",
    "CreateTarget",
    "Deduplicate",
    "DropColumns",
    "EnsureChild",
    "EnsureIndex",
    "InspectBatch",
    "MeasurePartition",
    "QueryBatch",
    "RejectRows",
    "ReplaceRows",
    "RunChecks",
    "Superseding",
    "UpsertRows",
    "WidenColumns",
]

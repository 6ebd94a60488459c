"""The small instruction set a step is made of. A dialect compiles each action to SQL."""

from __future__ import annotations

from airflow_idempotent.core.actions.making import AddColumns, CreateTarget, EnsureChild
from airflow_idempotent.core.actions.staging import CopyBatch, CreateStaging, Deduplicate, InspectBatch, RunChecks
from airflow_idempotent.core.actions.writing import DeleteMissing, MeasurePartition, RefuseTies, UpsertRows

Action = (
    CreateTarget
    | AddColumns
    | EnsureChild
    | CreateStaging
    | CopyBatch
    | InspectBatch
    | Deduplicate
    | RunChecks
    | UpsertRows
    | RefuseTies
    | DeleteMissing
    | MeasurePartition
)

# Writes to which an older batch must have something less to say than a newer one.
Superseding = UpsertRows | RefuseTies | DeleteMissing

__all__ = [
    "Action",
    "AddColumns",
    "CopyBatch",
    "CreateStaging",
    "CreateTarget",
    "Deduplicate",
    "DeleteMissing",
    "EnsureChild",
    "InspectBatch",
    "MeasurePartition",
    "RefuseTies",
    "RunChecks",
    "Superseding",
    "UpsertRows",
]

"""The small instruction set a step is made of. A dialect compiles each action to SQL."""

from __future__ import annotations

from airflow_idempotent.core.actions.changes import (
    ApplyChanges,
    EnsureTombstones,
    InspectChanges,
    KeepUnchanged,
    ResolveChanges,
)
from airflow_idempotent.core.actions.making import AddColumns, CreateTarget, DropColumns, EnsureChild, WidenColumns
from airflow_idempotent.core.actions.staging import CopyBatch, CreateStaging, Deduplicate, InspectBatch, RunChecks
from airflow_idempotent.core.actions.writing import MeasurePartition, UpsertRows

Action = (
    CreateTarget
    | AddColumns
    | DropColumns
    | WidenColumns
    | EnsureChild
    | CreateStaging
    | CopyBatch
    | InspectBatch
    | Deduplicate
    | RunChecks
    | UpsertRows
    | EnsureTombstones
    | InspectChanges
    | ResolveChanges
    | KeepUnchanged
    | ApplyChanges
    | MeasurePartition
)

# Writes to which an older batch must have something less to say than a newer one.
Superseding = UpsertRows

__all__ = [
    "Action",
    "AddColumns",
    "ApplyChanges",
    "CopyBatch",
    "CreateStaging",
    "CreateTarget",
    "Deduplicate",
    "DropColumns",
    "EnsureChild",
    "EnsureTombstones",
    "InspectBatch",
    "InspectChanges",
    "KeepUnchanged",
    "MeasurePartition",
    "ResolveChanges",
    "RunChecks",
    "Superseding",
    "UpsertRows",
    "WidenColumns",
]

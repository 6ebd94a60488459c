"""The small instruction set a step is made of. A dialect compiles each action to SQL."""

from __future__ import annotations

from airflow_idempotent.core.actions.attaching import ReplacePartition
from airflow_idempotent.core.actions.changes import (
    ApplyChanges,
    EnsureTombstones,
    InspectChanges,
    KeepUnchanged,
    ResolveChanges,
)
from airflow_idempotent.core.actions.history import RebuildIntervals
from airflow_idempotent.core.actions.making import (
    AddColumns,
    CreateLike,
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
from airflow_idempotent.core.actions.writing import (
    DeleteMissing,
    MeasurePartition,
    ProfilePartition,
    RefuseTies,
    ReplaceRows,
    UpsertRows,
)

Action = (
    CreateTarget
    | CreateLike
    | AddColumns
    | EnsureIndex
    | DropColumns
    | WidenColumns
    | EnsureChild
    | CreateStaging
    | CopyBatch
    | QueryBatch
    | InspectBatch
    | RejectRows
    | Deduplicate
    | RunChecks
    | EnsureTombstones
    | InspectChanges
    | ResolveChanges
    | KeepUnchanged
    | ApplyChanges
    | RebuildIntervals
    | ReplacePartition
    | UpsertRows
    | RefuseTies
    | DeleteMissing
    | ReplaceRows
    | MeasurePartition
    | ProfilePartition
)

# Writes to which an older batch must have something less to say than a newer one.
Superseding = UpsertRows | RefuseTies | DeleteMissing | ReplaceRows | ReplacePartition

__all__ = [
    "Action",
    "AddColumns",
    "ApplyChanges",
    "CopyBatch",
    "CreateLike",
    "CreateStaging",
    "CreateTarget",
    "Deduplicate",
    "DeleteMissing",
    "DropColumns",
    "EnsureChild",
    "EnsureIndex",
    "EnsureTombstones",
    "InspectBatch",
    "InspectChanges",
    "KeepUnchanged",
    "MeasurePartition",
    "ProfilePartition",
    "QueryBatch",
    "RebuildIntervals",
    "RefuseTies",
    "RejectRows",
    "ReplacePartition",
    "ReplaceRows",
    "ResolveChanges",
    "RunChecks",
    "Superseding",
    "UpsertRows",
    "WidenColumns",
]

"""What of a staged batch is taken out, what refuses it, and what is measured."""

from __future__ import annotations

from airflow_idempotent.core.actions import Action, InspectBatch, RejectRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.staged import Staged
from airflow_idempotent.core.window import Position, position_of
from airflow_idempotent.plan.late import lookback_start
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.table import TableSpec


def inspection(spec: LoadSpec, manifest: Manifest, staged: Staged, target: TableShape) -> tuple[Action, ...]:
    """Bad and unwanted rows are taken out where the spec says so, the others are refused; the rest is measured."""
    missing, outside = (spec.policy_for(name) for name in ("on_event_time_missing", "on_outside_partition"))
    lenient = spec.quarantines
    taken_out = ("exclude", "raise") if lenient else ("exclude",)
    key = spec.strategy.never_null(spec.unique_key, spec.version)
    listed = target.select(staged.columns)
    required = tuple(item.name for item in listed if item.name in key or not item.nullable)
    rejecting = RejectRows(
        staged.target,
        staged.staging,
        staged.columns,
        required=required,
        event_time=staged.partition_column,
        partition=staged.partition,
        missing=missing in taken_out,
        outside=outside in taken_out,
        quarantine=lenient,
        max_rows=spec.reject.max_rows,
        max_share=spec.reject.max_share,
    )
    inspecting = InspectBatch(
        staged.target,
        staged.staging,
        staged.columns,
        key,
        staged.version,
        event_time=staged.partition_column,
        partition=staged.partition if outside == "raise" else None,
        no_missing=missing == "raise",
        late_since=_late_since(spec, staged) if outside == "include" else None,
        new_since=_new_since(manifest, staged),
    )
    wanted = lenient or rejecting.missing or rejecting.outside
    return (rejecting, inspecting) if wanted else (inspecting,)


def _late_since(spec: LoadSpec, staged: Staged) -> tuple[Partition, Partition] | None:
    """From where on rows are late, and no longer too late, where rows know their time and a run knows a lookback."""
    if not isinstance(spec, TableSpec) or staged.partition_column not in staged.columns:
        return None
    return lookback_start(spec, staged.partition), staged.partition


def _new_since(manifest: Manifest, staged: Staged) -> tuple[str, Position] | None:
    """From which cursor on rows of an incremental query are new; what lies below is mostly read again."""
    window = manifest.window
    known_until = position_of(window.known_until) if window else None
    if not window or known_until is None or window.cursor not in staged.columns:
        return None
    # Rows of an equal time may be new; a number that is complete is complete with its ties.
    return window.cursor, known_until + 1 if isinstance(known_until, int) else known_until

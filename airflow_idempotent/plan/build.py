"""From a spec, a batch and the table as it is, to the step that will load it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from airflow_idempotent.core.actions import (
    Action,
    CopyBatch,
    CreateLike,
    CreateStaging,
    CreateTarget,
    EnsureChild,
    EnsureIndex,
    QueryBatch,
    RunChecks,
)
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.drift import SchemaChange
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import short_name
from airflow_idempotent.core.staged import Numbered, Staged
from airflow_idempotent.core.step import Step, Timeouts
from airflow_idempotent.core.version import Target
from airflow_idempotent.errors import TargetMissingError
from airflow_idempotent.plan.fitting import asked_of_batch, batch_columns, ruling, sequence_of, target_version
from airflow_idempotent.plan.inspection import inspection
from airflow_idempotent.plan.late import consecutive_since
from airflow_idempotent.plan.measuring import measuring
from airflow_idempotent.plan.schema_change import actions_of, changed_shape
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.written import as_text

ROOM_FOR_UPDATES = 85
"""Percent of a page, by measurement: docs/adr/0002."""


@dataclass(frozen=True, slots=True)
class Load:
    """A request: this batch of this partition, by the rules of this spec.

    ``looks_back`` when a later run reads it again for late data.
    ``target`` says whether readers read what is loaded, or a version of the table that is kept beside it.
    """

    spec: LoadSpec
    partition: Partition
    manifest: Manifest
    skip_unchanged: bool = False
    force: bool = False
    looks_back: bool = False
    target: Target = "live"


def created_shape(spec: LoadSpec) -> TableShape:
    """The table as we would create it.

    Raises:
        TargetMissingError: the spec has no columns to create it from.
    """
    if not spec.columns:
        raise TargetMissingError(table=spec.table)
    keys = (frozenset(spec.created_key),) if spec.created_key else ()
    return TableShape(spec.relation, spec.created_columns(), keys, partitioned=spec.partition_by.declarative)


def page_fill(spec: LoadSpec) -> int:
    """How full pages of a table that we create get, in percent: rows that are updated want room beside them."""
    if spec.fillfactor is not None:
        return spec.fillfactor
    return ROOM_FOR_UPDATES if spec.strategy.updates_in_place(spec.unique_key, spec.version) else 100


def shadow_like(spec: LoadSpec, live: TableShape | None) -> TableShape | None:
    """The shadow as we would make it after the live table, where the spec has no columns for it; None where it has."""
    if not spec.is_beside or spec.columns or live is None or live.partitioned != spec.partition_by.declarative:
        return None
    return replace(live, relation=spec.relation, intercepted=False)


def build_step(load: Load, shape: TableShape | None, live: TableShape | None = None) -> Step:
    """The step that loads a batch. ``shape`` is the target as it is, None when it does not exist.

    ``live`` is the live table where a shadow of it is not there yet.

    Raises:
        TargetMissingError: the target does not exist and cannot be created.
        SchemaDriftError: the columns of batch, spec and target do not fit together.
    """
    spec = load.spec
    like = shadow_like(spec, live)
    target = shape or like or created_shape(spec)
    ruled = ruling(spec, load.manifest, target)
    target = changed_shape(target, ruled.change)
    columns, ignored = batch_columns(spec, load.manifest, target, ruled.problems)
    staged = stage(load, target, columns)
    strategy, by = spec.strategy, spec.partition_column
    extra = tuple(item for item in asked_of_batch(spec, target) if item.name not in target)
    actions: list[Action] = [CreateStaging(target.relation, staged.staging, columns, ignored, extra, spec.quarantines)]
    actions += filling(load, staged)
    actions += inspection(spec, load.manifest, staged, target)
    if staged.deduplicated:
        actions += strategy.prepare(staged)
    if spec.checks:
        gate = (strategy.checked_rows(staged), spec.checks, columns, strategy.winners_key(staged), by)
        actions.append(RunChecks(*gate, source=staged.staging, key=spec.unique_key))
    actions += strategy.write(staged)
    actions += measuring(spec, load.partition, load.manifest.batch_id, target)
    return Step(
        target=target,
        partition=load.partition,
        manifest=load.manifest,
        actions=tuple(actions),
        prepare=preparation(load, shape or like, target, ruled.change, made_like=live if like and not shape else None),
        notes=ruled.change.notes,
        exclusive=strategy.is_exclusive(target, spec.unique_key),
        scope=strategy.speaks_for,
        guarded=(strategy.deletes or strategy.stays_inside) and not load.force,
        spec_fingerprint=fingerprint(spec),
        name=spec.table,
        table_version=spec.number,
        beside=spec.is_beside,
        # What a query reads may have changed, though the query has not.
        may_replay=load.skip_unchanged and not load.manifest.query,
        consecutive_since=consecutive_since(spec),
        looks_back=load.looks_back,
        spec_text=as_text(spec) if spec.number == spec.table_version else "",
        timeouts=Timeouts(spec.lock_timeout, spec.statement_timeout),
    )


def filling(load: Load, staged: Staged) -> tuple[Action, ...]:
    """What brings the batch into staging: the bytes of its parts, or the rows of its query."""
    manifest, lenient = load.manifest, load.spec.quarantines
    if query := manifest.query:
        return (QueryBatch(staged.staging, query.sql, staged.columns, bind_values(query.binds)),)
    return tuple(
        CopyBatch(staged.staging, part, manifest.format, number, lenient) for number, part in enumerate(manifest.parts)
    )


def bind_values(binds: Mapping[str, str]) -> tuple[tuple[str, Any], ...]:
    """The values of a pinned query's binds: instants as such, the others as text."""
    instants = ("start", "end", "cutoff_ts")
    return tuple(
        (name, datetime.fromisoformat(text) if name in instants else text) for name, text in sorted(binds.items())
    )


def stage(load: Load, target: TableShape, columns: tuple[str, ...]) -> Staged:
    """The batch as the strategy sees it."""
    spec, by = load.spec, load.spec.partition_column
    staging, winners = (short_name(name, spec.table) for name in ("idem_staging", "idem_winners"))
    return Staged(
        target=target.relation,
        staging=staging,
        winners=winners,
        columns=columns,
        unique_key=spec.unique_key,
        version=target_version(spec, target),
        sequence=sequence_of(spec, target),
        batch_id=load.manifest.batch_id,
        partition=load.partition,
        partition_column=by,
        within=(by, load.partition) if by and target.partitioned and by in spec.unique_key else None,
        deduplicated=bool(spec.unique_key and (spec.checks or spec.strategy.always_deduplicates)),
        allows_empty=spec.on_empty == "publish_empty",
        of=Numbered(spec.live, spec.number),
    )


def preparation(
    load: Load,
    shape: TableShape | None,
    target: TableShape,
    change: SchemaChange,
    made_like: TableShape | None = None,
) -> tuple[Action, ...]:
    """What must be there before the batch can be written: the table, its columns, the child of the partition.

    ``shape`` is the table as it is, or as another one is that it is ``made_like``; ``target`` as it will be.
    """
    spec, column = load.spec, load.spec.partition_by.column
    prepare: list[Action] = []
    declared = column if spec.partition_by.declarative else None
    if made_like:
        prepare.append(CreateLike(spec.relation, made_like.relation, page_fill(spec), declared))
    elif shape is None:
        prepare.append(
            CreateTarget(spec.relation, created_shape(spec).columns, spec.created_key, page_fill(spec), declared)
        )
        if indexed := spec.strategy.indexed:
            prepare.append(EnsureIndex(spec.relation, indexed))
    prepare += actions_of(change, target.relation, spec.strategy.defaults())
    if declared and target.partitioned:
        prepare.append(EnsureChild(spec.relation, target[declared], load.partition, page_fill(spec)))
    of = Numbered(spec.live, spec.number)
    return (*prepare, *spec.strategy.made(spec.relation, spec.unique_key, target_version(spec, target), of))


def blank_step(load: Load) -> Step:
    """The step's identity without its actions, for the ledger to record that it could not be run."""
    shape = TableShape(load.spec.relation, ())
    return Step(
        shape,
        load.partition,
        load.manifest,
        (),
        spec_fingerprint=fingerprint(load.spec),
        name=load.spec.table,
        table_version=load.spec.number,
    )

"""From a spec, a batch and the table as it is, to the step that will load it."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_idempotent.core.actions import (
    Action,
    CopyBatch,
    CreateStaging,
    CreateTarget,
    EnsureChild,
    InspectBatch,
    MeasurePartition,
    RunChecks,
)
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import short_name
from airflow_idempotent.core.step import Step, Timeouts
from airflow_idempotent.errors import SchemaDriftError, TargetMissingError
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.words import meant


@dataclass(frozen=True, slots=True)
class Load:
    """A request: this batch of this partition, by the rules of this spec."""

    spec: LoadSpec
    partition: Partition
    manifest: Manifest
    skip_unchanged: bool = False


def created_shape(spec: LoadSpec) -> TableShape:
    """The table as we would create it.

    Raises:
        TargetMissingError: the spec has no columns to create it from.
    """
    if not spec.columns:
        raise TargetMissingError(table=spec.table)
    keys = (frozenset(spec.unique_key),) if spec.unique_key else ()
    return TableShape(spec.relation, spec.created_columns(), keys, partitioned=spec.partition_by.declarative)


def build_step(load: Load, shape: TableShape | None) -> Step:
    """The step that loads a batch. ``shape`` is the target as it is, None when it does not exist.

    Raises:
        TargetMissingError: the target does not exist and cannot be created.
        SchemaDriftError: the columns of batch, spec and target do not fit together.
    """
    spec = load.spec
    target = shape or created_shape(spec)
    columns, ignored = batch_columns(load, target)
    staging, winners = (
        short_name(name, spec.table, load.manifest.batch_id) for name in ("idem_staging", "idem_winners")
    )
    names = {"columns": columns, "unique_key": spec.unique_key, "version": spec.version}
    parts = tuple(CopyBatch(staging, part, load.manifest.format) for part in load.manifest.parts)
    actions: list[Action] = [CreateStaging(target.relation, staging, columns, ignored), *parts]
    actions.append(
        InspectBatch(target.relation, staging, columns, spec.unique_key, spec.version, spec.partition_column)
    )
    checked = bool(spec.checks)
    if checked:
        actions += [*spec.strategy.prepare(staging=staging, winners=winners, **names), RunChecks(winners, spec.checks)]
    source = winners if checked else staging
    actions += spec.strategy.write(target=target.relation, source=source, deduplicated=checked, **names)
    if spec.partition_column and spec.partition_column in target:
        actions.append(MeasurePartition(target.relation, spec.partition_column, load.partition))
    return Step(
        target=target,
        partition=load.partition,
        manifest=load.manifest,
        actions=tuple(actions),
        prepare=preparation(load, shape),
        exclusive=not target.is_unique(spec.unique_key),
        spec_fingerprint=fingerprint(spec),
        may_replay=load.skip_unchanged,
        timeouts=Timeouts(spec.lock_timeout, spec.statement_timeout),
    )


def preparation(load: Load, shape: TableShape | None) -> tuple[Action, ...]:
    """What must exist before the batch can be written: the table, and the child of the partition."""
    spec, column = load.spec, load.spec.partition_by.column
    prepare: list[Action] = []
    declared = column if spec.partition_by.declarative else None
    if shape is None:
        columns = created_shape(spec).columns
        prepare.append(CreateTarget(spec.relation, columns, spec.unique_key, spec.fillfactor, declared))
    if declared and (shape is None or shape.partitioned):
        prepare.append(EnsureChild(spec.relation, (shape or created_shape(spec))[declared], load.partition))
    return tuple(prepare)


def batch_columns(load: Load, target: TableShape) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of the batch that go to the target, in the target's order, and those left out.

    Raises:
        SchemaDriftError: all that does not fit, with the columns there are.
    """
    spec, parts = load.spec, load.manifest.parts
    found = parts[0].columns if parts else target.names
    problems = [
        f"file {part.source or part.name!r} has columns {', '.join(part.columns)}, the first file {', '.join(found)}"
        for part in parts
        if set(part.columns) != set(found)
    ]
    extra = tuple(name for name in found if name not in target)
    wanted = dict.fromkeys([*spec.unique_key, *spec.version, *spec.column_names])
    problems += [f"column {name!r} is missing in the batch{meant(name, found)}" for name in wanted if name not in found]
    problems += [
        f"column {name!r} is missing in the target{meant(name, target.names)}" for name in wanted if name not in target
    ]
    problems += [
        f"column {item.name!r} is generated by the target and cannot be loaded"
        for item in target.columns
        if item.name in found and not item.writable
    ]
    if spec.on_schema_change == "fail":
        problems += [f"column {name!r} of the batch is not in the target{meant(name, target.names)}" for name in extra]
    if problems:
        problems.append(f"the target has: {', '.join(target.names)}")
        raise SchemaDriftError(table=spec.table, problems=tuple(problems))
    return tuple(name for name in target.names if name in found), extra


def blank_step(load: Load) -> Step:
    """The step's identity without its actions, for the ledger to record that it could not be run."""
    shape = TableShape(load.spec.relation, ())
    return Step(shape, load.partition, load.manifest, (), spec_fingerprint=fingerprint(load.spec))

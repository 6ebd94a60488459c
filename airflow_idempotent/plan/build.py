"""From a spec, a batch and the table as it is, to the step that will load it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_idempotent.core.actions import (
    Action,
    AddColumns,
    CopyBatch,
    CreateStaging,
    CreateTarget,
    EnsureChild,
    InspectBatch,
    MeasurePartition,
    RunChecks,
)
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Grain, Partition, is_time
from airflow_idempotent.core.relation import short_name
from airflow_idempotent.core.staged import Staged
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
    keys = (frozenset(spec.created_key),) if spec.created_key else ()
    return TableShape(spec.relation, spec.created_columns(), keys, partitioned=spec.partition_by.declarative)


def build_step(load: Load, shape: TableShape | None) -> Step:
    """The step that loads a batch. ``shape`` is the target as it is, None when it does not exist.

    Raises:
        TargetMissingError: the target does not exist and cannot be created.
        SchemaDriftError: the columns of batch, spec and target do not fit together.
    """
    spec = load.spec
    target = shape or created_shape(spec)
    target = replace(target, columns=(*target.columns, *missing_columns(spec, target)))
    columns, ignored = batch_columns(load, target)
    staged = stage(load, target, columns)
    strategy, by = spec.strategy, spec.partition_column
    extra = tuple(item for item in asked_of_batch(spec, target) if item.name not in target)
    parts = tuple(CopyBatch(staged.staging, part, load.manifest.format) for part in load.manifest.parts)
    actions: list[Action] = [CreateStaging(target.relation, staged.staging, columns, ignored, extra), *parts]
    inside = load.partition if strategy.refuses_outside else None
    names = (columns, spec.unique_key, staged.version)
    actions.append(InspectBatch(target.relation, staged.staging, *names, event_time=by, partition=inside))
    if staged.deduplicated:
        actions += strategy.prepare(staged)
    if spec.checks:
        actions.append(RunChecks(strategy.checked_rows(staged), spec.checks, columns))
    actions += strategy.write(staged)
    if by:
        actions.append(MeasurePartition(target.relation, by, load.partition))
    return Step(
        target=target,
        partition=load.partition,
        manifest=load.manifest,
        actions=tuple(actions),
        prepare=preparation(load, shape),
        exclusive=strategy.is_exclusive(target, spec.unique_key),
        scope=strategy.scope,
        spec_fingerprint=fingerprint(spec),
        may_replay=load.skip_unchanged,
        timeouts=Timeouts(spec.lock_timeout, spec.statement_timeout),
    )


def stage(load: Load, target: TableShape, columns: tuple[str, ...]) -> Staged:
    """The batch as the strategy sees it."""
    spec, by = load.spec, load.spec.partition_column
    sequence = sequence_of(spec, target)
    staging, winners = (
        short_name(name, spec.table, load.manifest.batch_id) for name in ("idem_staging", "idem_winners")
    )
    return Staged(
        target=target.relation,
        staging=staging,
        winners=winners,
        columns=columns,
        unique_key=spec.unique_key,
        version=tuple(name for name in spec.version if name not in sequence),
        sequence=sequence,
        batch_id=load.manifest.batch_id,
        partition=load.partition,
        partition_column=by,
        within=(by, load.partition) if by and target.partitioned and by in spec.unique_key else None,
        deduplicated=bool(spec.checks) or spec.strategy.always_deduplicates,
    )


def preparation(load: Load, shape: TableShape | None) -> tuple[Action, ...]:
    """What must exist before the batch can be written: the table, and the child of the partition."""
    spec, column = load.spec, load.spec.partition_by.column
    prepare: list[Action] = []
    declared = column if spec.partition_by.declarative else None
    if shape is None:
        columns = created_shape(spec).columns
        prepare.append(CreateTarget(spec.relation, columns, spec.created_key, spec.fillfactor, declared))
    elif missing := missing_columns(spec, shape):
        prepare.append(AddColumns(spec.relation, missing, spec.strategy.defaults()))
    if declared and (shape is None or shape.partitioned):
        by = (shape or created_shape(spec))[declared]
        prepare.append(EnsureChild(spec.relation, by, load.partition, spec.fillfactor))
    sequence = sequence_of(spec, shape or created_shape(spec))
    version = tuple(name for name in spec.version if name not in sequence)
    return (*prepare, *spec.strategy.made(spec.relation, spec.unique_key, version))


def sequence_of(spec: LoadSpec, target: TableShape) -> tuple[str, ...]:
    """The last columns of the version when only the batch has them, and the strategy can do with that."""
    known = [name in target for name in spec.version]
    lacking = known.count(False)
    may = spec.strategy.orders_within_batch and known[:1] == [True] and not any(known[len(known) - lacking :])
    return spec.version[len(known) - lacking :] if may and lacking else ()


def asked_of_batch(spec: LoadSpec, target: TableShape) -> tuple[Column, ...]:
    """Columns that the batch must have and the target need not."""
    return (*spec.strategy.batch_only(), *(Column(name, "text") for name in sequence_of(spec, target)))


def missing_columns(spec: LoadSpec, target: TableShape) -> tuple[Column, ...]:
    """The strategy's own columns that the target lacks."""
    return tuple(item for item in own_columns(spec, target) if item.name not in target)


def own_columns(spec: LoadSpec, target: TableShape) -> tuple[Column, ...]:
    """The columns that the strategy fills by itself."""
    return spec.strategy.own_columns({item.name: item for item in target.columns}, spec.version)


def batch_columns(load: Load, target: TableShape) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of the batch that go to the target, in the target's order, and those left out.

    Raises:
        SchemaDriftError: all that does not fit, with the columns there are.
    """
    spec, parts = load.spec, load.manifest.parts
    own = {item.name for item in own_columns(spec, target)}
    asked = tuple(item.name for item in asked_of_batch(spec, target))
    writable = (item.name for item in target.columns if item.writable and item.name not in own)
    found = parts[0].columns if parts else tuple(dict.fromkeys((*writable, *asked)))
    problems = [
        f"file {part.source or part.name!r} has columns {', '.join(part.columns)}, the first file {', '.join(found)}"
        for part in parts
        if set(part.columns) != set(found)
    ]
    extra = tuple(name for name in found if name not in target and name not in asked)
    wanted = dict.fromkeys([*spec.unique_key, *spec.version, *spec.column_names, *asked])
    problems += [f"column {name!r} is missing in the batch{meant(name, found)}" for name in wanted if name not in found]
    problems += target_problems(spec, target)
    problems += [
        f"column {item.name!r} is generated by the target and cannot be loaded"
        for item in target.columns
        if item.name in found and not item.writable
    ]
    problems += [f"column {name!r} is filled by strategy {spec.strategy.kind!r}" for name in found if name in own]
    if spec.on_schema_change == "fail":
        problems += [f"column {name!r} of the batch is not in the target{meant(name, target.names)}" for name in extra]
    if problems:
        raise SchemaDriftError(table=spec.table, problems=(*problems, *the_target_has(target)))
    return tuple(name for name in target.names if name in found), extra


def target_problems(spec: LoadSpec, target: TableShape) -> list[str]:
    """What the spec says of columns that the target does not have, or not so."""
    by = spec.partition_column
    version = [name for name in spec.version if name not in sequence_of(spec, target)]
    used = dict.fromkeys([*spec.unique_key, *version, *spec.column_names, *((by,) if by else ())])
    used |= dict.fromkeys(name for check in spec.checks for name in check.columns_used)
    problems = [
        f"column {name!r} is missing in the target{meant(name, target.names)}" for name in used if name not in target
    ]
    if by and by in target and not is_time(target[by].data_type):
        problems.append(f"column {by!r} is {target[by].data_type}: partitions need a date, timestamp or timestamptz")
    elif by and by in target and target[by].data_type == "date" and spec.grain is Grain.HOUR:
        problems.append(f"column {by!r} is date: it cannot tell the hours of a day apart")
    return problems


def the_target_has(target: TableShape) -> tuple[str, ...]:
    """The last line of a list of problems with columns."""
    return (f"the target has: {', '.join(target.names)}",)


def blank_step(load: Load) -> Step:
    """The step's identity without its actions, for the ledger to record that it could not be run."""
    shape = TableShape(load.spec.relation, ())
    return Step(shape, load.partition, load.manifest, (), spec_fingerprint=fingerprint(load.spec))

"""Actions to statements for PostgreSQL 15 and newer: pure, one function per action."""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from sqlglot import exp

from airflow_idempotent.core.actions import (
    Action,
    AddColumns,
    ApplyChanges,
    CopyBatch,
    CreateLike,
    CreateStaging,
    CreateTarget,
    Deduplicate,
    DeleteMissing,
    DropColumns,
    EnsureChild,
    EnsureIndex,
    EnsureTombstones,
    InspectBatch,
    InspectChanges,
    KeepUnchanged,
    MeasurePartition,
    ProfilePartition,
    QueryBatch,
    RebuildIntervals,
    RefuseTies,
    RejectRows,
    ReplacePartition,
    ReplaceRows,
    ResolveChanges,
    RunChecks,
    UpsertRows,
    WidenColumns,
)
from airflow_idempotent.core.actions.changes import ChangeAction
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.manifest import CsvFormat, copied_as
from airflow_idempotent.sql import (
    attach,
    changes,
    checks,
    create,
    events,
    history,
    keeping,
    measure,
    merge,
    missing,
    quarantine,
    replace,
    ties,
    tombstones,
    transform,
)
from airflow_idempotent.sql.remembered import no_values, remembered
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table, temporary


def compile_action(action: Action, target: TableShape) -> tuple[Statement, ...]:  # noqa: C901, one case per action
    """The statements an action stands for, in order. ``target`` is the table they are meant for."""
    match action:
        case CreateTarget():
            return create.create_target(action)
        case CreateLike():
            return create.create_as(action)
        case AddColumns():
            return create.add_columns(action)
        case DropColumns():
            return create.drop_columns(action)
        case WidenColumns():
            return create.widen_columns(action)
        case EnsureChild():
            return create.ensure_child(action)
        case EnsureIndex():
            return (create.ensure_index(action),)
        case CreateStaging():
            return create_staging(action, target)
        case CopyBatch():
            return (copy_batch(action),)
        case RejectRows():
            return quarantine.reject_rows(action, target)
        case QueryBatch():
            return (transform.query_batch(action),)
        case InspectBatch():
            return (measure.inspect_batch(action, target),)
        case Deduplicate():
            return (merge.deduplicate(action, target),)
        case RunChecks():
            return checks.run_checks(action, target)
        case UpsertRows():
            return merge.upsert_rows(action, target)
        case RefuseTies():
            return ties.tied_keys(action, target)
        case DeleteMissing():
            return missing.delete_missing(action, target)
        case ReplaceRows():
            return replace.replace_rows(action, target).statements
        case ReplacePartition():
            return attach.replace_partition(action, target)
        case RebuildIntervals():
            return history.rebuild_intervals(action, target).statements
        case MeasurePartition():
            return (measure.measure_partition(action, target),)
        case ProfilePartition():
            return (measure.profile_partition(action, target),)
        case EnsureTombstones() | InspectChanges() | ResolveChanges() | KeepUnchanged() | ApplyChanges():
            return compile_change(action, target)
        case _:
            assert_never(action)


def compile_change(action: ChangeAction, target: TableShape) -> tuple[Statement, ...]:
    """The same for the actions of a change stream."""
    match action:
        case EnsureTombstones():
            return tombstones.ensure_tombstones(action)
        case InspectChanges():
            return (events.inspect_changes(action),)
        case ResolveChanges():
            return events.resolve_changes(action, target)
        case KeepUnchanged():
            return keeping.keep_unchanged(action, target)
        case ApplyChanges():
            return changes.compile_changes(action, target)
        case _:
            assert_never(action)


@remembered(no_values)
def create_staging(action: CreateStaging, target: TableShape) -> tuple[Statement, ...]:
    """Columns take their types from the target; numbers and times keep all digits until inspected."""
    columns: list[exp.Expr] = []
    for item in target.select(action.columns):
        wide = exp.cast(column(item.name), data_type(item.staged_type)) if item.rounds else column(item.name)
        columns.append(exp.alias_(wide, item.name, quoted=True))
    others = [*((item.name, item.data_type) for item in action.extra), *((name, "text") for name in action.ignored)]
    columns += [exp.alias_(exp.cast(exp.null(), data_type(kind)), name, quoted=True) for name, kind in others]
    made = statement(temporary(action.staging, exp.select(*columns).from_(table(action.target)), no_data=True))
    return (made, quarantine.add_places(action.staging), quarantine.CREATE_REJECTED) if action.places else (made,)


def copy_batch(action: CopyBatch) -> Statement:
    """COPY by column names in the order of the part's header; the server skips the header and decodes."""
    return _copy(action.staging, action.part.columns, copied_as(action.format))


@lru_cache(maxsize=64)
def _copy(staging: str, columns: tuple[str, ...], form: CsvFormat) -> Statement:
    options = {
        "FORMAT": exp.var("csv"),
        "HEADER": exp.true() if form.header else exp.false(),
        "DELIMITER": exp.Literal.string(form.delimiter),
        "QUOTE": exp.Literal.string(form.quote),
        "NULL": exp.Literal.string(form.null),
        "ENCODING": exp.Literal.string(form.encoding),
    }
    copy = exp.Copy(
        this=exp.Schema(this=table(staging), expressions=[quoted(name) for name in columns]),
        kind=True,
        files=[exp.var("STDIN")],
        params=[exp.CopyParameter(this=exp.var(name), expression=value) for name, value in options.items()],
    )
    return statement(copy)

"""One action at a time: what the database did, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from airflow_idempotent.core.actions import (
    Action,
    AddColumns,
    ApplyChanges,
    CopyBatch,
    CreateLike,
    CreateTarget,
    Deduplicate,
    DeleteMissing,
    DropColumns,
    EnsureChild,
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
    RunChecks,
    UpsertRows,
    WidenColumns,
)
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.verdict import closes_gate
from airflow_idempotent.engine.altering import alter
from airflow_idempotent.engine.attaching import replace_partition
from airflow_idempotent.engine.changing import change, has_tombstones
from airflow_idempotent.engine.copying import copy_part
from airflow_idempotent.engine.facts import gather
from airflow_idempotent.engine.gate import evaluate
from airflow_idempotent.engine.inspecting import inspect
from airflow_idempotent.engine.measuring import measure, profile
from airflow_idempotent.engine.missing import delete_missing
from airflow_idempotent.engine.quarantine import copy_leniently, reject
from airflow_idempotent.engine.rebuilding import rebuild_intervals
from airflow_idempotent.engine.replacing import replace_rows
from airflow_idempotent.engine.surroundings import surrounded
from airflow_idempotent.engine.ties import refuse_ties
from airflow_idempotent.engine.transform import fill_by_query
from airflow_idempotent.engine.upserting import upsert
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import GateClosedError
from airflow_idempotent.sql.catalog import found
from airflow_idempotent.sql.checks import staged_place
from airflow_idempotent.sql.compiler import compile_action
from airflow_idempotent.sql.create import child_of, drop_index
from airflow_idempotent.sql.merge import may_repeat, take_all
from airflow_idempotent.sql.statement import Statement, table


def apply(work: Work, action: Action) -> None:  # noqa: C901, one case for each action
    """Run one action and count its effects."""
    compiled = partial(compile_action, action, work.step.target)
    match action:
        case CopyBatch():
            copy(work, action, compiled()[0])
        case QueryBatch():
            fill_by_query(action, compiled()[0], work.step, work.session)
        case RejectRows():
            reject(work, action, compiled())
        case Deduplicate() if action.in_place and not _may_repeat(work, action):
            work.session.execute(take_all(action))
            work.winners = work.rows
        case Deduplicate():
            work.winners = work.session.execute(compiled()[0])
        case InspectBatch():
            inspect(work, action, compiled()[0])
        case RunChecks():
            _gate(work, action)
        case UpsertRows():
            upsert(work, action)
        case RefuseTies():
            refuse_ties(work, action, compiled())
        case DeleteMissing():
            delete_missing(work, action, compiled())
        case ReplaceRows():
            replace_rows(work, action)
        case ReplacePartition():
            replace_partition(work, action)
        case RebuildIntervals():
            rebuild_intervals(work, action)
        case MeasurePartition():
            measure(work, action)
        case ProfilePartition():
            profile(work, action)
        case EnsureTombstones() | InspectChanges() | KeepUnchanged() | ApplyChanges():
            change(work, action, compiled())
        case CreateTarget() | CreateLike() | AddColumns() | DropColumns() | WidenColumns() | EnsureChild() if is_there(
            work, action
        ):
            pass
        case CreateLike():
            _make_like(work, compiled())
        case CreateTarget() if _found(work, action.target)[0]:  # CREATE SCHEMA would ask for a right first
            work.session.execute(compiled()[-1])
        case AddColumns() | DropColumns() | WidenColumns() | EnsureChild():
            alter(work.session, compiled())
        case _:
            for statement in compiled():
                work.session.execute(statement)


def _make_like(work: Work, statements: Sequence[Statement]) -> None:
    """Make the table, and leave out what it need not have while it is filled."""
    create, secondary = statements
    work.session.execute(create)
    for place in work.session.query(secondary):
        work.session.execute(drop_index(Relation(*place)))


def copy(work: Work, action: CopyBatch, statement: Statement) -> None:
    """Stream one part into staging."""
    if action.lenient:
        copy_leniently(work, action, statement)
    else:
        copy_part(action, statement, step=work.step, session=work.session, batches=work.batches)


def is_there(work: Work, action: Action) -> bool:
    """Whether what an action would make exists already."""
    match action:
        case CreateTarget() | CreateLike():
            return _found(work, action.target)[1]
        case AddColumns():
            return _columns(work, action.target).keys() >= {column.name for column in action.columns}
        case DropColumns():
            return not set(action.columns) & _columns(work, action.target).keys()
        case WidenColumns():
            return _columns(work, action.target).items() >= {(column.name, column.new) for column in action.columns}
        case EnsureChild():
            return bool(work.session.query(child_of(action)))
        case EnsureTombstones():
            return has_tombstones(work, action)
        case _:
            return False


def _may_repeat(work: Work, action: Deduplicate) -> bool:
    [(repeated,)] = work.session.query(may_repeat(action, work.step.target))
    return bool(repeated)


def _columns(work: Work, relation: Relation) -> dict[str, str]:
    """The columns of a table as it is now, with their types."""
    shape = work.session.shape(relation)
    return {column.name: column.data_type for column in shape.columns} if shape else {}


def _found(work: Work, relation: Relation) -> tuple[bool, bool]:
    """Whether the schema is there, and the table."""
    [(schema, table)] = work.session.query(found(relation))
    return schema, table


def _gate(work: Work, action: RunChecks) -> None:
    answerable = action.answerable
    facts = gather(
        work.session,
        answerable,
        table=work.step.table,
        shape=work.step.target,
        partition=work.step.partition,
        manifest=work.step.manifest,
        published=False,
        landed_rows=work.step.manifest.rows if not work.step.manifest.query else work.measure.staged_rows,
        unique_key=action.key,
        version=work.step.table_version,
    )
    facts = replace(
        facts,
        columns=action.columns,
        partition_column=action.partition_column,
        source=table(action.source) if action.source else None,
    )
    facts = surrounded(work.session, answerable, facts, work.step.table_version)
    place = staged_place(action, work.step.target, work.step.partition)
    results = iter(evaluate(work.session, answerable, place, facts))
    later = "only the target has the column: looked at in validate"
    work.checks = tuple(next(results) if check in answerable else check.not_evaluated(later) for check in action.checks)
    if failures := closes_gate(work.checks):
        raise GateClosedError(
            table=work.step.table,
            partition=work.step.partition.key,
            batch_id=work.step.manifest.batch_id,
            failures=failures,
            results=work.checks,
        )

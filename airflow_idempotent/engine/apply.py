"""One action at a time: what the database did, counted."""

from __future__ import annotations

import logging
from dataclasses import replace

from airflow_idempotent.core.actions import (
    Action,
    AddColumns,
    ApplyChanges,
    CopyBatch,
    CreateTarget,
    EnsureChild,
    EnsureTombstones,
    InspectBatch,
    InspectChanges,
    KeepUnchanged,
    MeasurePartition,
    RunChecks,
    UpsertRows,
)
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.verdict import closes_gate
from airflow_idempotent.engine.batches import VerifiedReader, unreadable_column
from airflow_idempotent.engine.changing import change, has_tombstones
from airflow_idempotent.engine.gate import evaluate
from airflow_idempotent.engine.inspecting import inspect
from airflow_idempotent.engine.refusals import bad_row
from airflow_idempotent.engine.upserting import upsert
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import BadRowError, GateClosedError
from airflow_idempotent.sql.catalog import found
from airflow_idempotent.sql.compiler import compile_action
from airflow_idempotent.sql.create import child_of
from airflow_idempotent.sql.statement import Statement, table

log = logging.getLogger(__name__)


def apply(work: Work, action: Action) -> None:
    """Run one action and count its effects."""
    statements = compile_action(action, work.step.target)
    match action:
        case CopyBatch():
            _copy(work, action, statements[0])
        case InspectBatch():
            inspect(work, action, statements[0])
        case RunChecks():
            _gate(work, action)
        case UpsertRows():
            upsert(work, action)
        case MeasurePartition():
            [(rows, total)] = work.session.query(statements[0])
            work.measure = replace(work.measure, row_count=rows, digest=digest(rows, total))
        case EnsureTombstones() | InspectChanges() | KeepUnchanged() | ApplyChanges():
            change(work, action, statements)
        case CreateTarget() | AddColumns() | EnsureChild() if is_there(work, action):
            pass
        case CreateTarget() if _found(work, action.target)[0]:  # CREATE SCHEMA would ask for a right first
            work.session.execute(statements[-1])
        case _:
            for statement in statements:
                work.session.execute(statement)


def is_there(work: Work, action: Action) -> bool:
    """Whether what an action would make exists already."""
    match action:
        case CreateTarget():
            return _found(work, action.target)[1]
        case AddColumns():
            shape = work.session.shape(action.target)
            return shape is not None and all(column.name in shape for column in action.columns)
        case EnsureChild():
            return bool(work.session.query(child_of(action)))
        case EnsureTombstones():
            return has_tombstones(work, action)
        case _:
            return False


def _found(work: Work, relation: Relation) -> tuple[bool, bool]:
    """Whether the schema is there, and the table."""
    [(schema, table)] = work.session.query(found(relation))
    return schema, table


def _copy(work: Work, action: CopyBatch, statement: Statement) -> None:
    with work.batches.open_part(work.step.manifest, action.part) as raw:
        reader = VerifiedReader(raw, action.part)
        try:
            rows = work.session.copy_in(statement, reader)
        except Exception as error:
            refused = _bad_row(work, error, action)
            if refused or reader.failure:
                reader.verify()  # a value can be bad because the file is damaged
            cause = reader.failure or refused or error
            if cause is error:
                raise
            raise cause from error
        reader.verify(rows)
    log.info(
        "staged table=%s partition=%s file=%s rows=%d bytes=%d",
        work.step.table,
        work.step.partition,
        action.part.name,
        rows,
        action.part.bytes,
    )


def _bad_row(work: Work, error: Exception, action: CopyBatch) -> BadRowError | None:
    """A refused value with its file, line and column; the server knows no column of a byte it cannot read."""
    found = bad_row(error, work.step.table, work.step.partition.key, action.part)
    if found and found.line and not found.column:
        with work.batches.open_part(work.step.manifest, action.part) as raw:
            found.column = unreadable_column(VerifiedReader(raw, action.part), found.line, action.part, action.format)
    return found


def _gate(work: Work, action: RunChecks) -> None:
    answerable = action.answerable
    results = iter(evaluate(work.session, answerable, table(action.rows)))
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


def digest(rows: int, total: str) -> str:
    """Rows and the sum of their hashes as one word; equal for equal rows in any order."""
    return f"{rows}:{int(total) % (1 << 128):032x}"

"""One action at a time: what the database did, counted."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from airflow_idempotent.core.actions import (
    Action,
    CopyBatch,
    CreateTarget,
    EnsureChild,
    InspectBatch,
    MeasurePartition,
    QueryBatch,
    RunChecks,
    UpsertRows,
)
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Effects, Measure, Step
from airflow_idempotent.core.verdict import CheckResult, closes_gate
from airflow_idempotent.engine.batches import PartOpener, VerifiedReader, unreadable_column
from airflow_idempotent.engine.gate import evaluate
from airflow_idempotent.engine.refusals import UNIQUE_VIOLATION, bad_row, detail, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.transform import fill_by_query
from airflow_idempotent.errors import BadRowError, GateClosedError, NullKeyError, PrecisionError, RepeatedKeyError
from airflow_idempotent.sql.catalog import found
from airflow_idempotent.sql.compiler import compile_action
from airflow_idempotent.sql.create import child_of
from airflow_idempotent.sql.merge import (
    BACK_TO_SAVEPOINT,
    DROP_COUNTERS,
    READ_COUNTERS,
    SAVEPOINT,
    STALE,
    UNCHANGED,
    compare_rows,
    count_keys,
    repeated_keys,
)
from airflow_idempotent.sql.statement import Statement, table

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass
class Work:
    """A step in progress: what was counted and measured so far.

    ``is_rerun`` says that this batch was the last thing published: look before you write.
    """

    step: Step
    session: Session
    batches: PartOpener
    effects: Effects = field(default_factory=Effects)
    measure: Measure = field(default_factory=Measure)
    checks: tuple[CheckResult, ...] = ()
    is_rerun: bool = False

    def apply(self, action: Action) -> None:
        """Run one action and count its effects."""
        if isinstance(action, UpsertRows) and action.within and not self._all_lie(*action.within):
            action = replace(action, within=None)
        statements = compile_action(action, self.step.target)
        match action:
            case CopyBatch():
                self._copy(action, statements[0])
            case QueryBatch():
                fill_by_query(action, statements[0], self.step, self.session)
            case InspectBatch():
                self._inspect(action, statements[0])
            case RunChecks():
                self._gate(action)
            case UpsertRows():
                self._upsert(action, statements)
            case MeasurePartition():
                [(rows, total)] = self.session.query(statements[0])
                self.measure = replace(self.measure, row_count=rows, digest=digest(rows, total))
            case CreateTarget() | EnsureChild() if self.is_there(action):
                pass
            case CreateTarget() if self._found(action.target)[0]:  # CREATE SCHEMA would ask for a right first
                self.session.execute(statements[-1])
            case _:
                for statement in statements:
                    self.session.execute(statement)

    def is_there(self, action: Action) -> bool:
        """Whether what an action would make exists already."""
        match action:
            case CreateTarget():
                return self._found(action.target)[1]
            case EnsureChild():
                return bool(self.session.query(child_of(action)))
            case _:
                return False

    def _found(self, relation: Relation) -> tuple[bool, bool]:
        """Whether the schema is there, and the table."""
        [(schema, table)] = self.session.query(found(relation))
        return schema, table

    def _copy(self, action: CopyBatch, statement: Statement) -> None:
        with self.batches.open_part(self.step.manifest, action.part) as raw:
            reader = VerifiedReader(raw, action.part)
            try:
                rows = self.session.copy_in(statement, reader)
            except Exception as error:
                refused = self._bad_row(error, action)
                if refused or reader.failure:
                    reader.verify()  # a value can be bad because the file is damaged
                cause = reader.failure or refused or error
                if cause is error:
                    raise
                raise cause from error
            reader.verify(rows)
        log.info(
            "staged table=%s partition=%s file=%s rows=%d bytes=%d",
            self.step.table,
            self.step.partition,
            action.part.name,
            rows,
            action.part.bytes,
        )

    def _bad_row(self, error: Exception, action: CopyBatch) -> BadRowError | None:
        """A refused value with its file, line and column; the server knows no column of a byte it cannot read."""
        found = bad_row(error, self.step.table, self.step.partition.key, action.part)
        if found and found.line and not found.column:
            with self.batches.open_part(self.step.manifest, action.part) as raw:
                found.column = unreadable_column(
                    VerifiedReader(raw, action.part), found.line, action.part, action.format
                )
        return found

    def _inspect(self, action: InspectBatch, statement: Statement) -> None:
        [(rows, min_version, max_version, min_time, max_time, *counts)] = self.session.query(statement)
        where = {"table": self.step.table, "partition": self.step.partition.key}
        scaled = [item for item in self.step.target.select(action.columns) if item.scale is not None]
        of_keys, of_scale = len(action.unique_key), len(action.unique_key) + len(scaled)
        nulls = _counted(action.unique_key, counts[:of_keys])
        lost = _counted([(item.name, item.data_type) for item in scaled], counts[of_keys:of_scale])
        unfit = _counted(scaled, counts[of_scale:])
        if nulls:
            raise NullKeyError(**where, columns=nulls)
        if lost:
            raise PrecisionError(**where, columns=tuple((*column, count) for column, count in lost))
        for item, count in unfit:
            reason, batch = f"{count} value(s) do not fit {item.data_type}", f"batch {self.step.manifest.batch_id}"
            raise BadRowError(**where, file=batch, line=None, column=item.name, reason=reason)
        self.measure = Measure(rows, min_version, max_version, min_time, max_time)

    def _gate(self, action: RunChecks) -> None:
        answerable = action.answerable
        results = iter(evaluate(self.session, answerable, table(action.rows)))
        later = "only the target has the column: looked at in validate"
        self.checks = tuple(
            next(results) if check in answerable else check.not_evaluated(later) for check in action.checks
        )
        if failures := closes_gate(self.checks):
            raise GateClosedError(
                table=self.step.table,
                partition=self.step.partition.key,
                batch_id=self.step.manifest.batch_id,
                failures=failures,
                results=self.checks,
            )

    def _upsert(self, action: UpsertRows, statements: Sequence[Statement]) -> None:
        if self.step.exclusive:
            self._refuse_repeated_keys(action)
        if self.is_rerun and self._is_all_there(action):
            return
        written = self._merge(statements)
        [(inserted, unchanged, stale)] = self.session.query(READ_COUNTERS)
        self.session.execute(DROP_COUNTERS)
        kept = written + unchanged + stale
        rejected = 0
        if self.step.target.intercepted:
            [(keys,)] = self.session.query(count_keys(action))
            kept, rejected = keys, keys - kept
        inserted = min(inserted, written)  # a trigger that drops rows may drop those too
        self.effects += Effects(
            inserted=inserted,
            updated=written - inserted,
            unchanged=unchanged,
            stale=stale,
            duplicate=self.measure.staged_rows - kept,
            rejected=rejected,
        )

    def _is_all_there(self, action: UpsertRows) -> bool:
        """Whether nothing is to be written, as after any load that nobody has tampered with; then it is all counted."""
        *settings, compare = compare_rows(action, self.step.target)
        for statement in settings:
            self.session.execute(statement)
        found: dict[str, int] = dict(self.session.query(compare))
        unchanged, stale = found.pop(UNCHANGED, 0), found.pop(STALE, 0)
        if found:
            return False
        duplicate = self.measure.staged_rows - unchanged - stale
        self.effects += Effects(unchanged=unchanged, stale=stale, duplicate=duplicate)
        return True

    def _merge(self, statements: Sequence[Statement]) -> int:
        """Run them; again when a parallel writer has inserted one of the keys meanwhile, which can be seen now.

        A row that collides with the same value twice collides with something that is no key.
        """
        collided: str | None = None
        while True:
            self.session.execute(SAVEPOINT)
            try:
                return [self.session.execute(statement) for statement in statements][-1]
            except Exception as error:
                if sqlstate(error) != UNIQUE_VIOLATION or detail(error) == collided:
                    raise
                collided = detail(error)
                self.session.execute(BACK_TO_SAVEPOINT)

    def _all_lie(self, column: str, partition: Partition) -> bool:
        """Whether all rows of the batch lie in the partition."""
        least, greatest = self.measure.min_event_time, self.measure.max_event_time
        if least is None or greatest is None:
            return not self.measure.staged_rows
        return partition.spans(least, greatest, self.step.target[column].data_type)

    def _refuse_repeated_keys(self, action: UpsertRows) -> None:
        [(count,)] = self.session.query(repeated_keys(action, self.step.target))
        if count:
            raise RepeatedKeyError(
                table=self.step.table, partition=self.step.partition.key, unique_key=action.unique_key, count=count
            )


def _counted(what: Iterable[T], counts: Iterable[int]) -> tuple[tuple[T, int], ...]:
    """What was counted at least once."""
    return tuple((item, count) for item, count in zip(what, counts, strict=True) if count)


def digest(rows: int, total: str) -> str:
    """Rows and the sum of their hashes as one word; equal for equal rows in any order."""
    return f"{rows}:{int(total) % (1 << 128):032x}"

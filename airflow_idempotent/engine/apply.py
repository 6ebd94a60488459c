"""One action at a time: what the database did, counted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_idempotent.checks import Check
from airflow_idempotent.checks.check import Rows
from airflow_idempotent.core.actions import (
    Action,
    CopyBatch,
    EnsureChild,
    InspectBatch,
    MeasurePartition,
    RunChecks,
    UpsertRows,
)
from airflow_idempotent.core.step import Effects, Measure, Step
from airflow_idempotent.core.verdict import CheckResult, Verdict, closes_gate
from airflow_idempotent.engine.batches import PartOpener, VerifiedReader
from airflow_idempotent.engine.refusals import UNIQUE_VIOLATION, bad_row, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import GateClosedError, NullKeyError, PrecisionError, RepeatedKeyError
from airflow_idempotent.sql.checks import count_violations, own_query, sample_violations, shared_scan
from airflow_idempotent.sql.compiler import compile_action
from airflow_idempotent.sql.create import is_child
from airflow_idempotent.sql.merge import BACK_TO_SAVEPOINT, DROP_COUNTERS, READ_COUNTERS, SAVEPOINT, repeated_keys
from airflow_idempotent.sql.statement import Statement, table

log = logging.getLogger(__name__)
WRITE_TRIES = 4


@dataclass
class Work:
    """A step in progress: what was counted and measured so far."""

    step: Step
    session: Session
    batches: PartOpener
    effects: Effects = field(default_factory=Effects)
    measure: Measure = field(default_factory=Measure)
    checks: tuple[CheckResult, ...] = ()

    def apply(self, action: Action) -> None:
        """Run one action and count its effects."""
        statements = compile_action(action, self.step.target)
        match action:
            case CopyBatch():
                self._copy(action, statements[0])
            case InspectBatch():
                self._inspect(action, statements[0])
            case RunChecks():
                self._gate(action)
            case UpsertRows():
                self._upsert(action, statements)
            case MeasurePartition():
                [(rows, total)] = self.session.query(statements[0])
                self.measure = replace(self.measure, row_count=rows, digest=digest(rows, total))
            case EnsureChild() if self.session.query(is_child(action.child, action.target)):
                pass
            case _:
                for statement in statements:
                    self.session.execute(statement)

    def _copy(self, action: CopyBatch, statement: Statement) -> None:
        with self.batches.open_part(self.step.manifest, action.part) as raw:
            reader = VerifiedReader(raw, action.part)
            try:
                rows = self.session.copy_in(statement, reader)
            except Exception as error:
                raise bad_row(error, self.step.table, self.step.partition.key, action.part) or error from error
            reader.verify(rows)
        log.info(
            "staged table=%s partition=%s file=%s rows=%d bytes=%d",
            self.step.table,
            self.step.partition,
            action.part.name,
            rows,
            action.part.bytes,
        )

    def _inspect(self, action: InspectBatch, statement: Statement) -> None:
        [(rows, min_version, max_version, min_time, max_time, *counts)] = self.session.query(statement)
        where = {"table": self.step.table, "partition": self.step.partition.key}
        keys, scaled = (
            len(action.unique_key),
            [item for item in self.step.target.select(action.columns) if item.scale is not None],
        )
        if nulls := tuple((name, count) for name, count in zip(action.unique_key, counts, strict=False) if count):
            raise NullKeyError(**where, columns=nulls)
        if lost := tuple(
            (item.name, item.data_type, count) for item, count in zip(scaled, counts[keys:], strict=True) if count
        ):
            raise PrecisionError(**where, columns=lost)
        self.measure = Measure(rows, min_version, max_version, min_time, max_time)

    def _gate(self, action: RunChecks) -> None:
        self.checks = evaluate(self.session, action.checks, table(action.rows))
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
        for tries in range(1, WRITE_TRIES + 1):
            self.session.execute(SAVEPOINT)
            try:
                written = [self.session.execute(statement) for statement in statements][-1]
                break
            except Exception as error:  # a parallel writer inserted one of these keys; now it can be seen
                if sqlstate(error) != UNIQUE_VIOLATION or tries == WRITE_TRIES:
                    raise
                self.session.execute(BACK_TO_SAVEPOINT)
        [(inserted, unchanged, stale)] = self.session.query(READ_COUNTERS)
        self.session.execute(DROP_COUNTERS)
        kept = written + unchanged + stale
        self.effects += Effects(
            inserted=inserted,
            updated=written - inserted,
            unchanged=unchanged,
            stale=stale,
            duplicate=self.measure.staged_rows - kept,
        )

    def _refuse_repeated_keys(self, action: UpsertRows) -> None:
        [(count,)] = self.session.query(repeated_keys(action))
        if count:
            raise RepeatedKeyError(
                table=self.step.table, partition=self.step.partition.key, unique_key=action.unique_key, count=count
            )


def evaluate(
    session: Session, checks: Sequence[Check], rows: Rows, binds: dict[str, Any] | None = None
) -> tuple[CheckResult, ...]:
    """Every check's verdict on the rows: one shared scan, then a query per check that needs its own."""
    if not checks:
        return ()
    bound = binds or {}
    shared, own = shared_scan(checks, rows), own_query(checks)
    [(total, *observed)] = session.query(replace(shared, binds=bound))
    counted = iter(observed)
    results = []
    for check in checks:
        count: int | None = None
        if check.aggregate() is not None:
            count = next(counted)
        elif check in own:
            [(count,)] = session.query(replace(count_violations(check, rows), binds=bound))
        results.append(_with_samples(session, check, check.judge(count, total), rows, bound))
    return tuple(results)


def _with_samples(
    session: Session, check: Check, result: CheckResult, rows: Rows, binds: dict[str, Any]
) -> CheckResult:
    """A broken check shows a few of the values that break it, and the query that finds them."""
    statement = sample_violations(check, rows) if result.verdict in (Verdict.FAILED, Verdict.WARNED) else None
    if statement is None:
        return result
    found = session.query(replace(statement, binds=binds))
    samples = tuple("(" + ", ".join(map(_shown, row)) + ")" if len(row) > 1 else _shown(row[0]) for row in found)
    return replace(result, samples=samples, query=statement.sql)


def _shown(value: Any) -> str:
    return "NULL" if value is None else str(value)


def digest(rows: int, total: str) -> str:
    """Rows and the sum of their hashes as one word; equal for equal rows in any order."""
    return f"{rows}:{int(total) % (1 << 128):032x}"

"""validate: the independent second look at what is now in the table."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from airflow_idempotent.checks import Reconcile
from airflow_idempotent.checks.check import Rows
from airflow_idempotent.core.actions import MeasurePartition
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.staged import Scope
from airflow_idempotent.core.step import Attempt, Measure, Receipt, State, Timeouts
from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict, closes_gate
from airflow_idempotent.engine.apply import digest
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.gate import evaluate
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.shadow import addressed
from airflow_idempotent.errors import GateClosedError, SchemaDriftError, TargetMissingError
from airflow_idempotent.plan.build import Load, blank_step
from airflow_idempotent.plan.fitting import target_problems, the_target_has
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.measure import bounds, measure_partition, partition_rows
from airflow_idempotent.sql.statement import table

log = logging.getLogger(__name__)


def validate(load: Load, *, connect: Connect, attempt: Attempt | None = None) -> Receipt:
    """Check the partition as readers see it, and write the verdict to the ledger.

    The table is only read, all of it in one snapshot. A second run gives the same verdict for the
    same rows.

    Raises:
        GateClosedError: a check of severity error failed; the verdict is recorded.
    """

    def work(session: Session, ledger: Ledger) -> Receipt:
        with session.transaction(snapshot=True):
            found = replace(load, spec=addressed(load.spec, load.target, session))
            return _record(found, _look(found, session, ledger), session, ledger)

    spec, where = load.spec, {"table": load.spec.table, "partition": load.partition.key}
    timeouts = Timeouts(spec.lock_timeout, spec.statement_timeout)
    receipt = attempt_at(
        work, table=spec.table, partition=load.partition.key, connect=connect, timeouts=timeouts, attempt=attempt
    )
    for result in receipt.checks:
        log.info("validate table=%s partition=%s verdict=%s %s", *where.values(), result.verdict, result)
    if failures := closes_gate(receipt.checks):
        raise GateClosedError(
            **where, batch_id=receipt.batch_id, failures=failures, results=receipt.checks, published=True
        )
    return receipt


def _look(load: Load, session: Session, ledger: Ledger) -> tuple[Receipt | None, Measure, tuple[CheckResult, ...]]:
    """What was published last, what is there now, and what the checks say to it."""
    spec = load.spec
    shape = session.shape(spec.relation)
    if shape is None:
        raise TargetMissingError(table=spec.table, similar=session.similar(spec.relation))
    if problems := target_problems(spec, shape):
        raise SchemaDriftError(table=spec.table, problems=(*problems, *the_target_has(shape)))
    published = ledger.latest(spec.table, load.partition.key, spec.number)
    now = measured(spec, shape, load.partition, session)
    by_rows = [check for check in spec.checks if not isinstance(check, Reconcile)]
    by_ledger = [check for check in spec.checks if isinstance(check, Reconcile)] or [Reconcile()]
    rows: Rows = table(spec.relation)
    binds: dict[str, Any] = {}
    if spec.partition_column:
        rows = partition_rows(shape, spec.partition_column)
        binds = bounds(load.partition, shape[spec.partition_column])
    results = evaluate(session, by_rows, rows, binds)
    results += not_empty(spec, results, now)
    since = changed_since(load, published, shape, ledger)
    return published, now, (*results, *(reconciled(load, check, published, now, since) for check in by_ledger))


def measured(spec: LoadSpec, shape: TableShape, partition: Partition, session: Session) -> Measure:
    """Rows and digest of the partition now; nothing for a table without a partition column."""
    if not spec.partition_column and spec.strategy.scope is not Scope.TABLE:
        return Measure()
    statement = measure_partition(MeasurePartition(spec.relation, spec.partition_column, partition), shape)
    [(rows, total)] = session.query(statement)
    return Measure(row_count=rows, digest=digest(rows, total))


def changed_since(load: Load, published: Receipt | None, shape: TableShape, ledger: Ledger) -> str:
    """A later batch of another partition that has written rows of this one; empty when there is none."""
    if published is None:
        return ""
    if load.spec.strategy.writes_anywhere:
        return ledger.batch_that_reached(published, load.partition, version=load.spec.number)
    if not load.spec.partition_column:
        return ""
    return ledger.batch_that_reached(published, load.partition, shape[load.spec.partition_column], load.spec.number)


def reconciled(load: Load, check: Reconcile, published: Receipt | None, now: Measure, since: str) -> CheckResult:
    """The ledger against the manifest and against the table."""
    if published is None:
        return check.not_evaluated("nothing was published for this partition yet")
    # How many rows a query has is not known before it is run: what was staged is what it brought.
    counted = load.manifest.batch_id == published.batch_id and not load.manifest.query
    landed = load.manifest.rows if counted else published.measure.staged_rows
    return check.compare(
        landed=landed, effects=published.effects, recorded=published.measure, now=now, changed_since=since
    )


def not_empty(spec: LoadSpec, results: tuple[CheckResult, ...], now: Measure) -> tuple[CheckResult, ...]:
    """An empty partition is a failure of its own, unless the spec says that it is normal."""
    empty = now.row_count == 0 if now.row_count is not None else any(result.rows == 0 for result in results)
    if not empty or spec.on_empty != "fail":
        return ()
    return (CheckResult("not_empty", Severity.ERROR, Verdict.FAILED, 0, 0, "no rows; set on_empty if that is normal"),)


def _record(
    load: Load, found: tuple[Receipt | None, Measure, tuple[CheckResult, ...]], session: Session, ledger: Ledger
) -> Receipt:
    published, now, results = found
    batch = load.manifest if published is None else replace(load.manifest, batch_id=published.batch_id)
    failures = closes_gate(results)
    step = blank_step(replace(load, manifest=batch))
    ledger.lock(step)
    state = State.FAILED if failures else State.VALIDATED
    message = "; ".join(failures)
    receipt = ledger.record(step, name="validate", state=state, measure=now, checks=results, message=message)
    return replace(receipt, effects=published.effects) if published else receipt  # of the load that was judged

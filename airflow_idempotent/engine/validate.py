"""validate: the independent second look at what is now in the table."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow_idempotent.checks import Reconcile
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.divergence import Comparison
from airflow_idempotent.core.step import Attempt, Measure, Receipt, State, Timeouts
from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict, closes_gate
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.baseline import baseline_of, changed_since, measured, shape_of
from airflow_idempotent.engine.batches import PartOpener
from airflow_idempotent.engine.divergence import compare, is_compared, not_comparable
from airflow_idempotent.engine.facts import gather
from airflow_idempotent.engine.gate import evaluate
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.locating import locate
from airflow_idempotent.engine.refusals import is_driver_error, reason, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.shadow import addressed
from airflow_idempotent.engine.surroundings import loaded, surrounded
from airflow_idempotent.engine.verdicts import held_verdict, still_holds
from airflow_idempotent.errors import GateClosedError, SchemaDriftError, TargetMissingError
from airflow_idempotent.plan.build import Load, blank_step
from airflow_idempotent.plan.fitting import target_problems, the_target_has
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.checks import target_place
from airflow_idempotent.sql.divergence import record as record_comparison
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)
_OF_THE_ROWS = ("22", "42")
"""Classes of SQLSTATE of rows, or of types, that cannot be compared."""


def validate(
    load: Load, *, connect: Connect, attempt: Attempt | None = None, batches: PartOpener | None = None
) -> Receipt:
    """Check the partition as readers see it, and write the verdict to the ledger.

    The table is only read, all of it in one snapshot. A second run gives the same verdict for the
    same rows. ``batches`` opens the landed batch, where a difference has to be traced to its keys.
    Where a later run has only looked back at the partition and nobody has written to it since, the verdict of
    the earlier run stands: no row is read, and nothing is recorded.

    Raises:
        GateClosedError: a check of severity error failed; the verdict is recorded.
    """

    def work(session: Session, ledger: Ledger) -> Receipt:
        started = time.monotonic()
        with session.transaction(snapshot=True):
            found = replace(load, spec=addressed(load.spec, load.target, session))
            shape = _table(found.spec, session)
            held = held_verdict(found, session, attempt or Attempt()) if load.looks_back else None
            if held and (standing := still_holds(found, held, shape, session, ledger)):
                return standing
            looked = _look(found, shape, session, ledger, batches)
            receipt = _record(found, looked, ledger, seconds=time.monotonic() - started)
            receipt = replace(receipt, changed=held is None or not held.is_of(receipt.measure))
            if load.target == "shadow" and found.spec.is_beside and is_compared(found.spec):
                receipt = replace(receipt, comparison=_compared(found, session, attempt or Attempt()))
            return receipt

    spec, where = load.spec, {"table": load.spec.table, "partition": load.partition.key}
    timeouts = Timeouts(spec.lock_timeout, spec.statement_timeout)
    receipt = attempt_at(
        work, table=spec.table, partition=load.partition.key, connect=connect, timeouts=timeouts, attempt=attempt
    )
    if receipt.replayed:
        log.info(
            "validate table=%s partition=%s replayed=True: unchanged since event %s", *where.values(), receipt.event_id
        )
    if (compared := receipt.comparison) is not None:
        log.info("validate table=%s partition=%s likeness=%s %s", *where.values(), compared.likeness, compared.told)
    for result in receipt.checks:
        log.info("validate table=%s partition=%s verdict=%s %s", *where.values(), result.verdict, result)
    if failures := closes_gate(receipt.checks):
        raise GateClosedError(
            **where, batch_id=receipt.batch_id, failures=failures, results=receipt.checks, published=True
        )
    return receipt


def _table(spec: LoadSpec, session: Session) -> TableShape:
    """The table as it is now, fit for the spec."""
    shape = session.shape(spec.relation)
    if shape is None:
        raise TargetMissingError(table=spec.table, similar=session.similar(spec.relation))
    if problems := target_problems(spec, shape):
        raise SchemaDriftError(table=spec.table, problems=(*problems, *the_target_has(shape)))
    return shape


def _look(
    load: Load, shape: TableShape, session: Session, ledger: Ledger, batches: PartOpener | None
) -> tuple[Receipt | None, Measure, tuple[CheckResult, ...]]:
    """What was published last, what is there now, and what the checks say to it."""
    spec = load.spec
    published = ledger.latest(spec.table, load.partition.key, spec.number)
    baseline = baseline_of(published, session) if published else None
    now = measured(spec, shape_of(baseline, shape), load.partition, session)
    by_rows = [check for check in spec.checks if not isinstance(check, Reconcile)]
    by_ledger = [check for check in spec.checks if isinstance(check, Reconcile)] or [Reconcile()]
    # How many rows a query has is not known before it is run: what was staged is what it brought.
    landed_rows = load.manifest.rows if load.manifest.parts else published.measure.staged_rows if published else None
    facts = gather(
        session,
        by_rows,
        table=spec.table,
        version=spec.number,
        shape=shape,
        partition=load.partition,
        manifest=load.manifest,
        published=True,
        landed_rows=landed_rows,
        unique_key=spec.unique_key,
    )
    facts = replace(
        facts,
        columns=shape.names,
        partition_column=spec.partition_column,
        loaded=loaded(session, published),
    )
    facts = surrounded(session, by_rows, facts, spec.number)
    place = target_place(shape, spec.partition_column, load.partition)
    results = evaluate(session, by_rows, place, facts)
    results += not_empty(spec, [item for check, item in zip(by_rows, results, strict=True) if not check.where], now)
    since, hashed = "", shape_of(baseline, shape)
    if published and baseline:
        published = replace(published, measure=baseline.over(published.measure))
        since = changed_since(spec, load.partition, published, baseline, shape, now, session)
    for check in by_ledger:
        result = reconciled(load, check, published, now, since)
        if published and check.buckets and result.is_broken and now.digest != published.measure.digest:
            found = locate(load, shape, hashed, published, session, batches)
            result = replace(result, message=f"{result.message}, {found.message}", samples=found.samples)
        results += (result,)
    return published, now, results


def _compared(load: Load, session: Session, attempt: Attempt) -> Comparison:
    """The partition of a new version held against the live table, as the ledger keeps it."""
    session.execute(Statement("SAVEPOINT idem_compare"))
    try:
        found = compare(load, session)
    except Exception as error:
        if not is_driver_error(error) or not sqlstate(error).startswith(_OF_THE_ROWS):
            raise
        session.execute(Statement("ROLLBACK TO SAVEPOINT idem_compare"))
        found = not_comparable(reason(error))
    where: dict[str, Any] = {"table": load.spec.table, "version": load.spec.number, "partition": load.partition.key}
    where["live"], _ = Journal(session).live(load.spec.table)
    session.execute(record_comparison(where, found, attempt.lane))
    return found


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


def not_empty(spec: LoadSpec, results: Sequence[CheckResult], now: Measure) -> tuple[CheckResult, ...]:
    """An empty partition is a failure of its own, unless the spec says that it is normal."""
    empty = now.row_count == 0 if now.row_count is not None else any(result.rows == 0 for result in results)
    if not empty or spec.on_empty != "fail":
        return ()
    return (CheckResult("not_empty", Severity.ERROR, Verdict.FAILED, 0, 0, "no rows; set on_empty if that is normal"),)


def _record(
    load: Load, found: tuple[Receipt | None, Measure, tuple[CheckResult, ...]], ledger: Ledger, *, seconds: float
) -> Receipt:
    published, now, results = found
    batch = load.manifest if published is None else replace(load.manifest, batch_id=published.batch_id)
    failures = closes_gate(results)
    step = blank_step(replace(load, manifest=batch))
    ledger.lock(step)
    state = State.FAILED if failures else State.VALIDATED
    message = "; ".join(failures)
    receipt = ledger.record(
        step, name="validate", state=state, measure=now, checks=results, message=message, seconds=seconds
    )
    return replace(receipt, effects=published.effects) if published else receipt  # of the load that was judged

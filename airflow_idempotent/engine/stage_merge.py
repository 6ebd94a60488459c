"""stage_merge from the outside: build the step for the table as it is, run it, record a refusal."""

from __future__ import annotations

import logging
from dataclasses import replace

from airflow_idempotent.core.step import Attempt, Receipt, State, Step, Timeouts
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.batches import PartOpener
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.runner import prepare_target, run_step
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.shadow import addressed, told_of_change, write_down_shadow
from airflow_idempotent.errors import GateClosedError, IdempotentError, TargetMissingError
from airflow_idempotent.plan.advice import index_advice
from airflow_idempotent.plan.build import Load, blank_step, build_step
from airflow_idempotent.plan.late import late_lines

log = logging.getLogger(__name__)


def stage_merge(
    load: Load,
    *,
    connect: Connect,
    batches: PartOpener,
    attempt: Attempt | None = None,
    dry_run: bool = False,
    is_last: bool = False,
) -> Receipt:
    """Load one batch into the target, in one transaction.

    Other partitions and keys are left alone. A second run finds nothing newer and writes nothing. ``is_last`` says
    that nobody tries again after this.

    Raises:
        IdempotentError: see each; the target is as it was, and the ledger says why.
    """

    def work(session: Session, ledger: Ledger) -> Receipt:
        step = current_step(load, session)
        if step.prepare and not dry_run:
            prepare_target(step, session=session, ledger=ledger, batches=batches)
            step = replace(current_step(load, session), notes=step.notes)
        if step.beside and load.target == "shadow" and not dry_run:
            write_down_shadow(load.spec, session, attempt)
        receipt = run_step(step, session=session, ledger=ledger, batches=batches, dry_run=dry_run)
        if advice := index_advice(load.spec, step.target):
            log.info("stage_merge table=%s partition=%s %s", load.spec.table, load.partition.key, advice)
        return receipt

    def refused(error: IdempotentError, session: Session, ledger: Ledger) -> None:
        with session.transaction():
            found = replace(load, spec=addressed(load.spec, load.target, session))
        record_refusal(found, error, session, ledger)

    timeouts = Timeouts(load.spec.lock_timeout, load.spec.statement_timeout)
    where = {"table": load.spec.table, "partition": load.partition.key}
    receipt = attempt_at(
        work,
        **where,
        connect=connect,
        timeouts=timeouts,
        attempt=attempt,
        refused=None if dry_run else refused,
        is_last=is_last,
    )
    if not receipt.replayed:
        for level, line in late_lines(load.spec, load.partition, receipt.measure):
            log.log(level, "stage_merge table=%s partition=%s %s", *where.values(), line)
    for note in receipt.notes:
        log.warning("stage_merge table=%s partition=%s %s", *where.values(), note)
    log.info(
        "stage_merge table=%s partition=%s batch=%s replayed=%s: %s",
        *where.values(),
        receipt.batch_id,
        receipt.replayed,
        "its receipt answers, no row was read or written" if receipt.replayed else receipt.effects,
    )
    return receipt


def current_step(load: Load, session: Session) -> Step:
    """The step for the table as the catalogue describes it now."""
    with session.transaction():
        load = replace(load, spec=addressed(load.spec, load.target, session))
        shape = session.shape(load.spec.relation)
        is_new = shape is None and load.spec.is_beside
        live = session.shape(addressed(load.spec, "live", session).relation) if is_new else None
        try:
            step = build_step(load, shape, live)
            return replace(step, notes=(*step.notes, *told_of_change(load.spec, session)))
        except TargetMissingError as missing:
            raise replace(missing, similar=session.similar(load.spec.relation)) from None


def record_refusal(load: Load, error: IdempotentError, session: Session, ledger: Ledger) -> None:
    """Say in the ledger that the batch was not published, and why; in a transaction of its own."""
    closed = isinstance(error, GateClosedError)
    failures = error.failures if isinstance(error, GateClosedError) else ()
    with session.transaction():
        ledger.record(
            blank_step(load),
            state=State.REJECTED if closed else State.FAILED,
            checks=error.results if isinstance(error, GateClosedError) else (),
            message=" ".join((error.headline, "; ".join(failures))).rstrip(),
        )

"""The heart: one step, one transaction, and its ledger row in the same one."""

from __future__ import annotations

import time
from dataclasses import replace

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Receipt, Step
from airflow_idempotent.engine.apply import apply, is_there
from airflow_idempotent.engine.attempts import TargetChanged
from airflow_idempotent.engine.baseline import remember_columns
from airflow_idempotent.engine.batches import PartOpener
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.measuring import keep
from airflow_idempotent.engine.pointing import show_new_columns
from airflow_idempotent.engine.session import Rollback, Session
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import OtherSpecError


class RowsWouldChange(Exception):  # noqa: N818, an answer, not an error
    """The table does not hold the batch yet. Nothing was written."""


def run_step(
    step: Step,
    *,
    session: Session,
    ledger: Ledger,
    batches: PartOpener,
    dry_run: bool = False,
    only_record: bool = False,
) -> Receipt:
    """Run one step in one transaction, and write that down in the same one.

    A dry run does all of it, counts, and rolls back. A step that ran before finds its rows
    unchanged, or, where it may, only its receipt. With ``only_record`` it must find them so.

    Raises:
        RowsWouldChange: with ``only_record``, a row would have to be written.
        TargetChanged: the table was altered since the step was built.
        IdempotentError: a row, a check or a lock forbids it; the table is as it was.
    """
    work = Work(step, session, batches)
    started = time.monotonic()
    with session.transaction():
        ledger.lock(step)
        done = ledger.receipt(step)
        if done and step.may_replay:
            return replace(done.replay(), relation=str(step.target.relation))
        session.clear_leftovers()
        if dry_run:
            for action in step.prepare:
                apply(work, action)
        else:
            refuse_what_changed(step, done, session, ledger)
        if ledger.has_newer_batch(step):
            step = step.superseded()
        work.is_rerun = done is not None
        for action in step.actions:
            apply(work, action)
        if only_record and work.effects.touched:
            raise RowsWouldChange(step.table)
        receipt = record(work, step, ledger, seconds=time.monotonic() - started)
        if dry_run:
            receipt = replace(receipt, dry_run=True, event_id=None)
            raise Rollback
    return receipt


def record(work: Work, step: Step, ledger: Ledger, *, seconds: float) -> Receipt:
    """Write down what was done, and what later ones compare with."""
    receipt = ledger.record(
        step,
        effects=work.effects,
        measure=work.measured(),
        checks=work.checks,
        message="; ".join(step.notes),
        seconds=seconds,
    )
    remember_columns(step.target, receipt, work.session)
    if step.spec_text:
        Journal(work.session).keep_spec(step.table, step.table_version, step.spec_fingerprint, step.spec_text)
    keep(work, receipt.event_id or 0)
    return receipt


def refuse_what_changed(step: Step, done: Receipt | None, session: Session, ledger: Ledger) -> None:
    """The table, its version, or the spec that the batch was published by: the step was built for others.

    Raises:
        TargetChanged: the step has to be built again.
        OtherSpecError: another spec has published the batch.
    """
    if step.guarded and not done:
        refuse_other_spec(step, ledger)
    if session.shape(step.target.relation) != step.target:
        raise TargetChanged(step.table)
    refuse_other_version(step, session)


def refuse_other_version(step: Step, session: Session) -> None:
    """Begin again where a swap has come between: what the step takes for live is not, or the other way round.

    Raises:
        TargetChanged: it has.
    """
    number, relation = Journal(session).live(step.table)
    is_live = number == step.table_version
    if is_live == step.beside or (is_live and relation != step.target.relation):
        raise TargetChanged(step.table)


def refuse_other_spec(step: Step, ledger: Ledger) -> None:
    """A batch that another spec has published is not loaded again by this one without a word."""
    published = ledger.latest(step.table, step.partition.key, step.table_version)
    if published and published.content_fingerprint == step.manifest.content_fingerprint:
        raise OtherSpecError(table=step.table, partition=step.partition.key, batch_id=published.batch_id)


def prepare_target(step: Step, *, session: Session, ledger: Ledger, batches: PartOpener) -> None:
    """Make the table and the child of the partition, in a transaction of their own that lets nobody wait for the load.

    What exists is left alone, so every attempt may do this.
    """
    work = Work(step, session, batches)
    with session.transaction():
        if all(is_there(work, action) for action in step.prepare):
            return
        ledger.lock_preparation(step)
        refuse_other_version(step, session)
        for action in step.prepare:
            apply(work, action)
        if not step.beside and step.table != str(step.target.relation):
            show_new_columns(Relation.parse(step.table), step.target.relation, session)

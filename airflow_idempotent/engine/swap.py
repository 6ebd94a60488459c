"""swap and rollback: one version of a table takes the place of another."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.version import RollbackOrder, SwapOrder, Swapped, Version, VersionState
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.children import child_order
from airflow_idempotent.engine.choosing import asked_for, kept_version, proof_of
from airflow_idempotent.engine.cutover import refuse_unready
from airflow_idempotent.engine.exchanging import SWAP, Held
from airflow_idempotent.engine.fitness import refuse_unfit
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.pointing import exchange_for
from airflow_idempotent.engine.preparing import Choice, prepare
from airflow_idempotent.engine.refusals import is_driver_error, reason
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import Standing, standing
from airflow_idempotent.engine.way_back import lost_by_going_back, way_back
from airflow_idempotent.errors import WritesLostError
from airflow_idempotent.sql import swap as sql
from airflow_idempotent.sql.carrying import validate_constraint
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)


def swap(order: SwapOrder, *, connect: Connect, attempt: Attempt | None = None) -> Swapped:
    """Make a shadow the live table, in one transaction; the table that was live is kept under the name of its version.

    Loads wait, readers see the old table or the new one. A second try of the same run finds it done; one that is
    run again after a later swap is refused.

    Raises:
        IdempotentError: see each; readers still read the table that they have read before.
    """
    if order.partition:
        order = child_order(order, connect=connect)

    def choose(now: Standing, session: Session, journal: Journal) -> Version | Swapped:
        return ready_version(order, now, session, journal)

    prepare(order, choose, connect=connect, attempt=attempt)
    return _exchanged(order, choose, VersionState.RETIRED, connect, attempt)


def ready_version(order: SwapOrder, now: Standing, session: Session, journal: Journal) -> Version | Swapped:
    """The version that may become live now, or the proof that it is.

    Raises:
        IdempotentError: it is not there, does not fit, or is not ready.
    """
    found = asked_for(order, now, session, journal)
    if isinstance(found, Version):
        refuse_unfit(order, now.live, found, session)
        if order.gates:
            refuse_unready(order.gates, now.live, found, session)
    return found


def rollback(order: RollbackOrder, *, connect: Connect, attempt: Attempt | None = None) -> Swapped:
    """The same backwards: the version that was live before, or another one that is kept, is live again.

    A second try finds it done. Without a number it never goes back two versions at once.

    Raises:
        RollbackError: there is none to go back to.
        WritesLostError: partitions that were loaded since would go back in time.
        IdempotentError: see each; nothing was changed.
    """

    def choose(now: Standing, session: Session, journal: Journal) -> Version | Swapped:
        return kept_version(order, now, session, journal)

    return _exchanged(order, choose, VersionState.ROLLED_BACK, connect, attempt)


def _exchanged(
    order: SwapOrder | RollbackOrder,
    choose: Choice,
    leaves_as: VersionState,
    connect: Connect,
    attempt: Attempt | None,
) -> Swapped:
    held = Held()

    def work(session: Session, ledger: Ledger) -> Swapped:
        with session.transaction():
            ledger.lock_versions(order.table)
            journal = Journal(session, attempt)
            now = standing(order.live, session, journal)
            coming = choose(now, session, journal)
            if isinstance(coming, Swapped):
                left_over = _left_over(now.live, session, dependents=order.on_dependents == "carry")
                done = coming
            else:
                told = _told_before(order, now.live, coming, session, journal)
                left, come, carried = exchange_for(order, now.live, session)(
                    now.live,
                    coming,
                    leaves_as,
                    timeouts=order.timeouts,
                    session=session,
                    journal=journal,
                    held=held,
                    dependents=order.on_dependents == "carry",
                    as_built=isinstance(order, RollbackOrder) or order.allow_changes,
                )
                left_over, done = carried.after, replace(proof_of(come, left), **told)
                if carried.kept:
                    log.info("swap carried over: %s", "; ".join(carried.kept))
        if not done.replayed:
            done = replace(done, held_ms=held.milliseconds)
        return replace(done, notes=tuple(_finish(left_over, session)))

    done = attempt_at(
        work, table=order.table, partition=SWAP, connect=connect, timeouts=order.timeouts, attempt=attempt
    )
    log.info(
        "swap table=%s version=%d retired=%s replayed=%s held_ms=%.1f",
        *(done.table, done.version, done.retired, done.replayed, done.held_ms),
    )
    return done


def _told_before(
    order: SwapOrder | RollbackOrder, live: Version, coming: Version, session: Session, journal: Journal
) -> dict[str, Any]:
    """What has to be known before anything is changed: the way back from a swap, or what a rollback loses.

    Raises:
        WritesLostError: a rollback would lose loads, and nobody has accepted that.
    """
    if isinstance(order, SwapOrder):
        found = way_back(order, live, session, journal)
        return {"way_back": str(found) if order.keeping else ""}
    lost = lost_by_going_back(live, coming, session)
    if lost and not order.accept_loss:
        raise WritesLostError(table=order.table, version=coming.number, live_version=live.number, partitions=lost)
    return {"lost": lost}


def _left_over(live: Version, session: Session, *, dependents: bool) -> tuple[Statement, ...]:
    """What a try that was killed after its commit has not got to: keys that hold for new rows only are checked."""
    found = session.query(sql.unchecked_keys(live.oid, dependents=dependents))
    return tuple(validate_constraint(Relation(schema, name), key) for schema, name, key in found)


def _finish(statements: Iterable[Statement], session: Session) -> Iterator[str]:
    """Do what readers need not wait for; what the database refuses is said, since the swap is committed."""
    for statement in statements:
        try:
            with session.transaction():
                session.execute(statement)
        except Exception as error:
            if not is_driver_error(error):
                raise
            note = f"not done, try it again by hand: {statement}: {reason(error)}"
            log.warning("swap %s", note)
            yield note

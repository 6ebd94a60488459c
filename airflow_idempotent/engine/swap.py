"""swap and rollback: one version of a table takes the place of another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.version import (
    KEPT,
    SHADOW,
    RollbackOrder,
    SwapOrder,
    Swapped,
    Version,
    VersionState,
    version_name,
)
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.cutover import refuse_unready
from airflow_idempotent.engine.exchanging import SWAP, Held
from airflow_idempotent.engine.fitness import refuse_unfit
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.pointing import exchange_for
from airflow_idempotent.engine.refusals import is_driver_error, reason
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import Standing, facts_of, standing
from airflow_idempotent.errors import CutoverError, RollbackError, ShadowError, SwapSupersededError
from airflow_idempotent.sql import swap as sql
from airflow_idempotent.sql.carrying import validate_constraint
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)
Choice = Callable[[Standing, Session, Journal], Version | Swapped]


def swap(order: SwapOrder, *, connect: Connect, attempt: Attempt | None = None) -> Swapped:
    """Make a shadow the live table, in one transaction; the table that was live is kept under the name of its version.

    Loads wait, readers see the old table or the new one. A second try of the same run finds it done; one that is
    run again after a later swap is refused.

    Raises:
        IdempotentError: see each; readers still read the table that they have read before.
    """

    def choose(now: Standing, session: Session, journal: Journal) -> Version | Swapped:
        found = _asked_for(order, now, session, journal)
        if isinstance(found, Version):
            refuse_unfit(order, now.live, found, session)
            if order.gates:
                refuse_unready(order.gates, now.live, found, session)
        return found

    return _exchanged(order, choose, VersionState.RETIRED, connect, attempt)


def rollback(order: RollbackOrder, *, connect: Connect, attempt: Attempt | None = None) -> Swapped:
    """The same backwards: the version that was live before, or another one that is kept, is live again.

    A second try finds it done. Without a number it never goes back two versions at once.

    Raises:
        RollbackError: there is none to go back to.
        IdempotentError: see each; nothing was changed.
    """

    def choose(now: Standing, session: Session, journal: Journal) -> Version | Swapped:
        return _kept(order, now, session, journal)

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
            ledger.lock_table(order.table)
            journal = Journal(session, attempt)
            now = standing(order.live, session, journal)
            coming = choose(now, session, journal)
            if isinstance(coming, Swapped):
                left_over = _left_over(now.live, session, dependents=order.on_dependents == "carry")
                done = coming
            else:
                left, come, carried = exchange_for(order, now.live)(
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
                left_over, done = carried.after, _proof(come, left)
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


def _proof(live: Version, left: Version | None, *, replayed: bool = False) -> Swapped:
    return Swapped(
        table=live.table,
        version=live.number,
        retired_version=left.number if left else 0,
        retired=str(left.relation) if left else "",
        run=live.run,
        recorded_at=live.since,
        replayed=replayed,
    )


def _done_already(now: Standing) -> Swapped:
    """What an earlier try has done."""
    kept = [version for version in now.versions if version.state in KEPT]
    newest = max(kept, key=lambda version: (version.since is not None, version.since), default=None)
    log.info("swap table=%s already swapped by run %s at %s", now.live.table, now.live.run or "(none)", now.live.at)
    return _proof(now.live, newest, replayed=True)


def _asked_for(order: SwapOrder, now: Standing, session: Session, journal: Journal) -> Version | Swapped:
    """The shadow that is meant, or the proof that it is live already."""
    by_name = facts_of(order.shadow, session) if order.shadow else None
    if done := journal.made_by_this_run(order.table, VersionState.SWAPPED):
        if done.number != now.live.number:
            raise _too_late(now, done.number)
        if by_name is None or by_name.oid == now.live.oid:
            return _done_already(now)
    if order.shadow is None:
        return _by_number(order, now, session)
    if by_name is None:
        if now.live.source == str(order.shadow) and not journal.run:
            return _done_already(now)
        raise _no_shadow(order, "there is no such table", session)
    if by_name.oid == now.live.oid:
        raise _no_shadow(order, "it is the live table itself", session)
    if (known := now.of_oid(by_name.oid)) is None:
        return Version(order.table, now.next_number, order.shadow, by_name.oid, VersionState.BUILT)
    if known.state in KEPT:
        raise _too_late(now, known.number)
    return replace(known, relation=order.shadow)


def _by_number(order: SwapOrder, now: Standing, session: Session) -> Version | Swapped:
    """The shadow of that number, or the newest that was built."""
    number = order.version
    if number is None:
        built = [item.number for item in now.shadows if item.state is not VersionState.PLANNED]
        if not built:
            raise _no_shadow(order, "no version was built beside it", session)
        number = max(built)
    if number == now.live.number:
        return _done_already(now)
    version = now.number(number)
    if version and version.state not in SHADOW:
        raise _too_late(now, number)
    if version and version.state is VersionState.PLANNED:
        raise _no_shadow(order, f"version {number} is planned, nothing was loaded into it", session)
    relation = version.relation if version else version_name(order.live, number)
    facts = facts_of(relation, session)
    if order.gates and version is None:
        raise CutoverError(table=order.table, version=number, reasons=("it is not built yet",), waiting=True)
    if facts is None or (version and version.oid != facts.oid):
        why = f"{relation} is not there" if facts is None else f"{relation} is not the table that was built"
        raise _no_shadow(order, why, session)
    return version or Version(order.table, number, relation, facts.oid, VersionState.BUILT)


def _kept(order: RollbackOrder, now: Standing, session: Session, journal: Journal) -> Version | Swapped:
    """The version to go back to, or the proof that it is live already."""
    kept = [version for version in now.versions if version.state in KEPT]
    listed = tuple(f"version {item.number}: {item.relation}, {item.state} {item.at}" for item in kept)

    def refused(reason: str) -> RollbackError:
        return RollbackError(table=order.table, version=order.to, reason=reason, kept=listed)

    if journal.made_by_this_run(order.table, VersionState.ROLLED_BACK):
        done = journal.made_by_this_run(order.table, VersionState.SWAPPED)
        if done is None or done.number == now.live.number:
            return _done_already(now)
        raise _too_late(now, done.number)
    if order.to == now.live.number:
        return _done_already(now)
    if order.to is None:
        if any(_is_what_it_came_from(version, now.live) for version in kept):
            return _done_already(now)
        retired = [version for version in kept if version.state is VersionState.RETIRED]
        if not retired:
            raise refused("no version before it is kept")
        version = max(retired, key=lambda item: item.number)
    else:
        found = next((item for item in now.versions if item.number == order.to), None)
        if found is None:
            raise refused("there never was such a version")
        if found.state not in KEPT:
            raise refused(f"it is {found.state} since {found.at}")
        version = found
    facts = facts_of(version.relation, session)
    if facts is None or facts.oid != version.oid:
        raise refused(f"{version.relation} is not there any more, or another table")
    return version


def _is_what_it_came_from(version: Version, live: Version) -> bool:
    """Whether the live version is live because that one was rolled back."""
    later = version.since and live.since and version.since <= live.since
    return version.state is VersionState.ROLLED_BACK and version.number > live.number and bool(later)


def _too_late(now: Standing, number: int) -> SwapSupersededError:
    version = now.number(number)
    return SwapSupersededError(
        table=now.live.table,
        version=number,
        state=str(version.state) if version else "gone",
        live_version=now.live.number,
        live_run=now.live.run,
        at=now.live.at,
    )


def _no_shadow(order: SwapOrder, reason: str, session: Session) -> ShadowError:
    shadow = order.shadow or (version_name(order.live, order.version) if order.version else None)
    similar = session.similar(shadow) if shadow else ()
    reasons = (reason, *(f"did you mean {name}?" for name in similar if name != str(shadow)))
    return ShadowError(table=order.table, shadow=str(shadow or ""), reasons=reasons)

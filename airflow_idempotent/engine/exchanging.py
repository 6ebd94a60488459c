"""Two tables exchange their names, in one short moment of one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airflow_idempotent.core.locks import lock_key
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.renames import Exchange, Named
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import Version, VersionState, version_name
from airflow_idempotent.engine.altering import BACK_TO_SAVEPOINT, SAVEPOINT, InTheWay, Patience
from airflow_idempotent.engine.inventory import inventory
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import LOCK_NOT_AVAILABLE, is_driver_error, reason, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import facts_of
from airflow_idempotent.errors import DependentsError, ShadowError
from airflow_idempotent.plan.carrying import Carrying, carrying
from airflow_idempotent.plan.swap import exchange
from airflow_idempotent.sql import swap as sql
from airflow_idempotent.sql.ledger import LOCK
from airflow_idempotent.sql.statement import Statement, setting

log = logging.getLogger(__name__)
SWAP = "swap"
FIRST_PAUSE = 0.2
WOULD_NOT_HELP = ("0A", "22", "23", "2B", "42")
"""Classes of SQLSTATE that the same statement gives again on the same table."""


@dataclass
class Held:
    """When readers began to wait; read after the commit."""

    since: float = 0.0

    @property
    def milliseconds(self) -> float:
        return (time.monotonic() - self.since) * 1000


def exchange_names(
    live: Version,
    coming: Version,
    leaves_as: VersionState,
    *,
    timeouts: Timeouts,
    session: Session,
    journal: Journal,
    held: Held,
    dependents: bool,
    as_built: bool,
) -> tuple[Version, Version, Carrying]:
    """Make ``coming`` the live table, and keep what was live under the name of its version; both as written down.

    The third is what was carried over, with what is left to do once all this is committed. All that can be done before
    is done before readers have to wait: they do so for the renames, for what names the live table, and for the commit.

    Raises:
        ShadowError: the name for the table that is live now is taken by something else.
        DependentsError: something would stay with it, or be lost.
        LockTimeoutError: somebody read the table all the time; nothing was changed.
    """
    keep_others_out((live.relation, coming.relation), session)
    one_after_the_other(live, session)
    carried = _carried(live, coming, session, dependents=dependents, as_built=as_built)
    for statement in carried.before:
        give(statement, live, coming, session)
    changes = changes_of(live, coming, session)
    retired = version_name(live.relation, live.number)
    left = journal.record(live, leaves_as, relation=retired, names=changes.names)
    come = journal.record(
        coming, VersionState.SWAPPED, relation=live.relation, source=str(coming.relation), message="", names=()
    )
    locks = (*carried.first, *sql.lock_exclusively((coming.relation, live.relation)))
    patience = Patience(live.table, SWAP, timeouts, pause=FIRST_PAUSE)

    def change() -> None:
        session.execute(sql.rename_all(changes.renames))
        for statement in carried.moment:
            give(statement, live, coming, session)

    patience.spent_on(in_one_moment(locks, change, session, held), Ledger(session).holders_now)
    return left, come, carried


def keep_others_out(relations: Sequence[Relation], session: Session) -> None:
    """Nobody alters, vacuums or indexes the tables any more; readers and writers do not notice.

    A vacuum that runs is cancelled by the server when somebody waits for it; later we would not wait long enough.
    """
    with session.waiting():
        for statement in sql.keep_others_out(relations):
            session.execute(statement)


def one_after_the_other(live: Version, session: Session) -> None:
    """Swaps below the same view take turns: asking for its text locks it, and so two would wait for each other."""
    with session.waiting():
        for (oid,) in session.query(sql.views_of(live.oid)):
            session.query(Statement(LOCK, {"key": lock_key(f"airflow_idempotent/view/{oid}")}))


def _carried(live: Version, coming: Version, session: Session, *, dependents: bool, as_built: bool) -> Carrying:
    """What the live table has and the coming one must get.

    Raises:
        DependentsError: something cannot be carried over.
    """
    ours, theirs = (inventory(item.relation, item.oid, session) for item in (live, coming))
    carried = carrying(ours, theirs, dependents=dependents, as_built=as_built)
    if carried.refused:
        raise DependentsError(table=live.table, shadow=str(coming.relation), losses=carried.refused)
    for note in carried.notes:
        log.info("swap table=%s %s", live.table, note)
    return carried


def give(statement: Statement, live: Version, coming: Version, session: Session) -> None:
    """Carry one thing over.

    Raises:
        DependentsError: the database refuses it, and would do so again.
    """
    try:
        session.execute(statement)
    except Exception as error:
        if not is_driver_error(error) or not sqlstate(error).startswith(WOULD_NOT_HELP):
            raise
        what = f"{reason(error)}: {statement}"
        raise DependentsError(table=live.table, shadow=str(coming.relation), losses=(what,)) from error


def changes_of(live: Version, coming: Version, session: Session) -> Exchange:
    """The renames; planned while nobody can alter the tables, and nobody waits yet."""
    table, retired = live.relation, version_name(live.relation, live.number)
    if facts_of(retired, session) is not None:
        why = f"{retired}, the name for the table that is live now, is taken"
        hint = f"Rename or drop {retired}, which is no version of {live.table}; then swap again."
        raise ShadowError(table=live.table, shadow=str(coming.relation), reasons=(why,), hint=hint)
    ours, theirs = (tuple(Named(*row) for row in session.query(sql.named_of(item.oid))) for item in (live, coming))
    names = {item.name for item in (*ours, *theirs) if item.shares_namespace}
    taken = {str(name) for (name,) in session.query(sql.taken_in(table.schema))} - names
    return exchange(
        ours, theirs, table=table, retired=retired, shadow=coming.relation, taken=taken, known=dict(coming.names)
    )


def in_one_moment(
    locks: Sequence[Statement], change: Callable[[], None], session: Session, held: Held
) -> Callable[[], None]:
    """Lock and rename, or give up at once so that nobody queues behind us."""

    def once() -> None:
        session.execute(SAVEPOINT)
        try:
            with session.waiting_shortly():
                session.query(setting("lock_timeout", f"{sql.LOCK_WAIT_MS}ms"))
                held.since = time.monotonic()
                for lock in locks:
                    session.execute(lock)
                change()
        except Exception as error:
            if sqlstate(error) != LOCK_NOT_AVAILABLE:
                raise
            session.execute(BACK_TO_SAVEPOINT)
            raise InTheWay(reason(error)) from error

    return once

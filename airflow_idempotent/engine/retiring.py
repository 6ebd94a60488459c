"""What becomes of versions that are no longer live: kept, pinned, dropped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.staged import Numbered
from airflow_idempotent.core.step import Attempt, Timeouts
from airflow_idempotent.core.version import KEPT, Keeping, Version, VersionState
from airflow_idempotent.engine.attempts import Connect, attempt_at, look_at
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import LOCK_NOT_AVAILABLE, reason, sqlstate
from airflow_idempotent.engine.session import Rollback, Session
from airflow_idempotent.engine.standing import facts_of, standing
from airflow_idempotent.engine.way_back import lost_by_going_back
from airflow_idempotent.errors import RollbackError
from airflow_idempotent.sql import swap as sql
from airflow_idempotent.sql.create import SHORT_WAIT
from airflow_idempotent.sql.ledger_schema import SCHEMA_VERSION
from airflow_idempotent.sql.tombstones import TOMBSTONES
from airflow_idempotent.strategies.cdc import tombstones_prefix

log = logging.getLogger(__name__)
T = TypeVar("T")
STILL_REFERENCED = "2BP01"


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """What was dropped, and what stays though its time is over: (relation, why)."""

    dropped: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


def clean_up(
    live: Relation,
    keeping: Keeping,
    *,
    connect: Connect,
    attempt: Attempt | None = None,
    timeouts: Timeouts | None = None,
) -> CleanedUp:
    """Drop versions that nobody wants to go back to, each in a transaction of its own.

    Only those that the journal names, while they are the very table that it speaks of; never the live one, a shadow
    or a pinned one, and nothing along with them: what something hangs on is left, and said. A second run finds them
    gone.
    """
    timeouts = timeouts or Timeouts()
    table = str(live)

    def work(session: Session, ledger: Ledger) -> CleanedUp:
        journal = Journal(session, attempt)
        with session.transaction():
            [(now,)] = session.query(sql.NOW)
            due = expired(journal.versions(table), keeping, now)
        dropped: list[str] = []
        left: list[tuple[str, str]] = []
        for version in due:
            if why := _dropped(version, live, session, journal):
                left.append((str(version.relation), why))
            else:
                dropped.append(str(version.relation))
        with session.transaction():
            _drop_tombstones(live, session, journal)
        return CleanedUp(tuple(dropped), tuple(left))

    done = attempt_at(work, table=table, partition="clean-up", connect=connect, timeouts=timeouts, attempt=attempt)
    for name in done.dropped:
        log.info("clean-up table=%s dropped=%s", table, name)
    for name, why in done.left:
        log.warning("clean-up table=%s left=%s: %s", table, name, why)
    return done


def expired(versions: tuple[Version, ...], keeping: Keeping, now: datetime) -> list[Version]:
    """Those that neither ``keep_for`` nor ``keep_versions`` keeps, and that are not pinned."""
    kept = [version for version in versions if version.state in KEPT]
    newest_first = sorted(kept, key=lambda item: (item.since or now, item.number), reverse=True)
    beyond = newest_first[keeping.keep_versions :]
    return [item for item in beyond if not item.pinned and item.since and now - item.since >= keeping.keep_for]


def _dropped(version: Version, live: Relation, session: Session, journal: Journal) -> str:
    """Drop a version; empty when it is gone, else why it is not."""
    why = ""
    try:
        with session.transaction():
            journal.lock_shared(version.table)  # loads go on, swaps and rollbacks wait
            now = next(item for item in standing(live, session, journal).versions if item.number == version.number)
            if now.state not in KEPT or now.pinned:
                why = "it is pinned" if now.pinned else f"it is {now.state} now"
                raise Rollback
            facts = facts_of(now.relation, session)
            if facts and facts.oid != now.oid:
                why = "another table has its name"
                raise Rollback
            if facts:
                session.query(SHORT_WAIT)
                session.execute(sql.drop_table(now.relation))
            gone = "" if facts else "was gone already"
            journal.record(now, VersionState.DROPPED, message=gone, names=())
    except Exception as error:
        if sqlstate(error) not in (STILL_REFERENCED, LOCK_NOT_AVAILABLE):
            raise
        return reason(error)
    return why


def _drop_tombstones(live: Relation, session: Session, journal: Journal) -> None:
    """What was remembered beside dropped versions goes, but for the newest of it: the live one may go on with that."""
    names = [str(name) for (name,) in session.query(TOMBSTONES)]
    if not names:
        return
    journal.lock_shared(str(live))
    number, _ = journal.live(str(live))
    versions = journal.versions(str(live))
    prefixes = {item.number: f"{tombstones_prefix(Numbered(live, item.number))}_" for item in versions}
    there = [of for of, prefix in prefixes.items() if of <= number and any(name.startswith(prefix) for name in names)]
    gone = [item.number for item in versions if item.state is VersionState.DROPPED]
    for of in gone:
        if of != max(there, default=0):
            for name in names:
                if name.startswith(prefixes[of]):
                    session.execute(sql.drop_table(Relation("airflow_idempotent", name)))


def pin(
    live: Relation,
    number: int,
    *,
    pinned: bool = True,
    why: str = "",
    connect: Connect,
    attempt: Attempt | None = None,
) -> Version:
    """Keep a version whatever ``keep_for`` says, or no longer. A second time changes nothing.

    Raises:
        RollbackError: there is no such version, or not any more.
    """
    table = str(live)

    def work(session: Session, ledger: Ledger) -> Version:
        with session.transaction():
            journal = Journal(session, attempt)
            journal.lock_shared(table)
            version = standing(live, session, journal).number(number)
            if version is None or version.state is VersionState.DROPPED:
                why_not = "there never was such a version" if version is None else f"it was dropped at {version.at}"
                raise RollbackError(table=table, version=number, reason=why_not)
            if version.pinned == pinned:
                return version
            return journal.note(version, pinned=pinned, message=why)

    return attempt_at(work, table=table, partition="pin", connect=connect, timeouts=Timeouts(), attempt=attempt)


def versions_of(table: str | None, *, connect: Connect) -> tuple[Version, ...]:
    """What the journal says of each version. A database without a ledger is left without."""
    return _asked(lambda session: Journal(session).versions(table), table, connect)


def lost_by_rollback(table: str | None, *, connect: Connect) -> dict[tuple[str, int], tuple[str, ...]]:
    """For each version that is kept, by table and number, the partitions that a rollback to it would lose."""

    def work(session: Session) -> tuple[tuple[tuple[str, int], tuple[str, ...]], ...]:
        found = Journal(session).versions(table)
        live = {item.table: item for item in found if item.state is VersionState.SWAPPED}
        kept = [item for item in found if item.state in KEPT and item.table in live]
        return tuple(((item.table, item.number), lost_by_going_back(live[item.table], item, session)) for item in kept)

    return dict(_asked(work, table, connect))


def _asked(question: Callable[[Session], tuple[T, ...]], table: str | None, connect: Connect) -> tuple[T, ...]:
    """Ask the journal, where there is one."""

    def work(session: Session, ledger: Ledger) -> tuple[T, ...]:
        with session.transaction():
            version = ledger.version()
        if version and version < SCHEMA_VERSION:
            ledger.install()
        with session.transaction():
            return question(session) if version else ()

    return look_at(work, table=table or "all tables", partition="versions", connect=connect, timeouts=Timeouts())

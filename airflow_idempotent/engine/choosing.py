"""Which version of a table a swap or a rollback means; or the proof that it is live already."""

from __future__ import annotations

import logging
from dataclasses import replace

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
from airflow_idempotent.engine.journal import FOUND_LIVE, Journal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import Standing, facts_of
from airflow_idempotent.errors import CutoverError, RollbackError, ShadowError, SwapSupersededError

log = logging.getLogger(__name__)


def proof_of(live: Version, left: Version | None, *, replayed: bool = False) -> Swapped:
    """That a version is live, and which one it took the place of."""
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
    return proof_of(now.live, newest, replayed=True)


def asked_for(order: SwapOrder, now: Standing, session: Session, journal: Journal) -> Version | Swapped:
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


def kept_version(order: RollbackOrder, now: Standing, session: Session, journal: Journal) -> Version | Swapped:
    """The version to go back to, or the proof that it is live already."""
    kept = [version for version in now.versions if version.state in KEPT]
    listed = tuple(f"version {item.number}: {item.relation}, {item.state} {item.at}" for item in kept)

    def refused(reason: str) -> RollbackError:
        return RollbackError(table=order.table, version=order.to, reason=reason, kept=listed)

    done = journal.made_by_this_run(order.table, VersionState.SWAPPED)
    if done and (done.message == FOUND_LIVE or journal.made_by_this_run(order.table, VersionState.ROLLED_BACK)):
        if done.number == now.live.number:
            return _done_already(now)
        raise _too_late(now, done.number)
    went_back = order.to is None and any(_is_what_it_came_from(version, now.live) for version in kept)
    if went_back or order.to == now.live.number:
        journal.note_found(now.live)
        return _done_already(now)
    if order.to is None:
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

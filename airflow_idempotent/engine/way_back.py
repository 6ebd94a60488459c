"""Whether a swap can be undone, until when, and what that loses: told before it, and checked before going back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_idempotent.core.version import SwapOrder, Version
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql import way_back as sql
from airflow_idempotent.sql.swap import NOW


@dataclass(frozen=True, slots=True)
class WayBack:
    """How a swap can be undone. ``until`` it is kept at least, until ``lossless`` loads write it, too.

    ``reason`` says why there is no way back, or goes on with why loads do not write the version.
    """

    version: int
    until: datetime | None = None
    lossless: datetime | None = None
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether there is one."""
        return self.until is not None

    def __str__(self) -> str:
        if self.until is None:
            return f"There will be no way back to version {self.version}: {self.reason}."
        possible = f"A rollback to version {self.version} is possible at least until {self.until:%Y-%m-%d %H:%M:%S}"
        if self.lossless is None:
            return f"{possible}; it goes back to the rows of the swap{self.reason}."
        return f"{possible}; loads write it until {self.lossless:%Y-%m-%d %H:%M:%S}; later ones would be lost."


def way_back(order: SwapOrder, live: Version, session: Session, journal: Journal) -> WayBack:
    """How the swap could be undone, as its order and the ledger have it."""
    keeping, window = order.keeping, order.rollback_window
    if keeping is None:
        return WayBack(live.number, reason="it is not said how long it is kept")
    if not keeping.keep_versions and not keeping.keep_for:
        return WayBack(live.number, reason="keep_for and keep_versions keep nothing")
    [(now,)] = session.query(NOW)
    until = now + keeping.keep_for
    if window is None:
        return WayBack(live.number, until, reason=", unless loads write both (publish.rollback_window)")
    if not window:
        return WayBack(live.number, until, reason=": loads write the new version only (rollback_window)")
    if not journal.spec_of(order.table, live.number):
        return WayBack(live.number, until, reason=f": by which spec version {live.number} is loaded is not known")
    return WayBack(live.number, until, now + min(window, max(keeping.keep_for, timedelta(0))))


def lost_by_going_back(live: Version, to: Version, session: Session) -> tuple[str, ...]:
    """Partitions that were loaded since the live version became so, or only into it, and not into the other one."""
    rows = session.query(sql.lost(live.table, live.number, to.number, live.since))
    return tuple(str(key) for (key,) in rows)

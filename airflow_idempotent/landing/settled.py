"""Below which time nothing can be missing in a PostgreSQL source: what is being written may still be dated earlier.

The rule and its proof: docs/adr/0006-watermarks.md.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

MARGIN = timedelta(seconds=1)
"""For transactions that have begun and not yet said so to pg_stat_activity: that takes microseconds."""

PATIENCE = timedelta(seconds=10)
"""How long writers are waited for, where nothing is known before they have ended."""

# The clock is that of the statement's begin: whoever is not seen began later, or had ended before.
_ACTIVITY = """
SELECT statement_timestamp(), pg_is_in_recovery(),
    (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()),
    (SELECT count(DISTINCT a.pid) FROM pg_stat_activity a JOIN pg_locks l USING (pid)
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
        AND (a.query = '<insufficient privilege>' OR a.state = 'disabled')
        AND l.locktype = 'virtualxid' AND l.granted AND l.mode = 'ExclusiveLock'),
    (SELECT min(least(a.xact_start, a.query_start)) FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.state <> 'idle'
        AND a.backend_type NOT IN ('autovacuum worker', 'walsender'))
"""


@dataclass(frozen=True, slots=True)
class Settled:
    """``until``: rows dated before are all visible to a snapshot taken later; None where ``note`` says why."""

    read_at: datetime
    until: datetime | None
    note: str = ""


def settled(connection: Any, now: datetime) -> Settled:
    """Ask who is writing, before the snapshot is taken; in a transaction of its own.

    ``now`` is the clock when the server is one that cannot be asked, though it speaks PostgreSQL's protocol.
    """
    cursor = connection.cursor()
    try:
        cursor.execute(_ACTIVITY)
        [(read_at, recovering, prepared, hidden, oldest)] = cursor.fetchall()
    except Exception as error:  # noqa: BLE001, whatever it does not know: then nothing is proved
        return Settled(now, None, f"the source does not tell who is writing ({type(error).__name__})")
    finally:
        with suppress(Exception):
            connection.rollback()
    if recovering:
        return Settled(read_at, None, "the source is a standby, which does not know who is writing")
    if prepared:
        return Settled(read_at, None, f"{prepared} prepared transaction(s) wait in the source, begun nobody knows when")
    if hidden:
        return Settled(
            read_at,
            None,
            f"{hidden} session(s) of the source hide when they began: GRANT pg_read_all_stats to the role that reads",
        )
    return Settled(read_at, min(read_at, oldest or read_at) - MARGIN)


def writers_gone(connection: Any, since: datetime) -> Settled:
    """Wait until all transactions that had begun by ``since`` have ended, but no longer than ``PATIENCE``."""
    deadline = time.monotonic() + PATIENCE.total_seconds()
    while True:
        time.sleep(MARGIN.total_seconds())
        found = settled(connection, since)
        if found.until is None or found.until >= since:
            return found
        if time.monotonic() > deadline:
            note = f"a transaction of the source that had begun by {since:%H:%M:%S} UTC is still open"
            return replace(found, until=None, note=note)


def clock(connection: Any) -> datetime:
    """What the source's clock says, in a transaction of its own."""
    cursor = connection.cursor()
    cursor.execute("SELECT clock_timestamp()")
    [(now,)] = cursor.fetchall()
    connection.rollback()
    found: datetime = now.astimezone(UTC)
    return found

"""One attempt at the database: a connection of its own, a few tries, and errors that say what to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, TypeVar

from airflow_idempotent.core.step import Attempt, Timeouts
from airflow_idempotent.engine.altering import Patience
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import is_driver_error, is_transient, reason, refusal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import IdempotentError, LockTimeoutError, RowsChangedError, UnreachableError

log = logging.getLogger(__name__)
Connect = Callable[[], Any]
T = TypeVar("T")
Refused = Callable[[IdempotentError, Session, Ledger], None]
TRIES = 6


class TargetChanged(Exception):  # noqa: N818, a reason to begin again, not an error
    """The table is no longer what the step was built for; build it again. Nothing was written."""


def attempt_at(
    work: Callable[[Session, Ledger], T],
    *,
    table: str,
    partition: str,
    connect: Connect,
    timeouts: Timeouts,
    attempt: Attempt | None = None,
    refused: Refused | None = None,
    is_last: bool = False,
) -> T:
    """Do the work on a new connection, which is closed whatever happens; the ledger is there for it.

    Deadlocks, serialization failures and a table altered meanwhile are tried again, with pauses of
    0.1 to 1.6 seconds; the whole transaction runs again, which is harmless by law. Where the table is to
    be altered and somebody is in the way, that goes on until ``lock_timeout`` is used up. ``refused`` is
    told of an error that no retry can mend, to write it down; with ``is_last``, since nobody will retry, of any.

    Raises:
        UnreachableError: no connection could be opened.
        IdempotentError: anything else the database refuses, in our words.
    """

    def with_ledger(session: Session, ledger: Ledger) -> T:
        ledger.install()
        return work(session, ledger)

    return look_at(
        with_ledger,
        table=table,
        partition=partition,
        connect=connect,
        timeouts=timeouts,
        attempt=attempt,
        refused=refused,
        is_last=is_last,
    )


def look_at(
    work: Callable[[Session, Ledger], T],
    *,
    table: str,
    partition: str,
    connect: Connect,
    timeouts: Timeouts,
    attempt: Attempt | None = None,
    refused: Refused | None = None,
    is_last: bool = False,
) -> T:
    """The same for work that only reads: no ledger is made for it."""
    attempt = attempt or Attempt()
    with closing(_connected(connect, table, partition)) as connection:
        session = Session(connection, timeouts=timeouts, application_name=session_name(attempt, table, partition))
        ledger = Ledger(session, attempt)
        patience = Patience(table, partition, timeouts)
        for tries in range(1, TRIES + 1):
            try:
                return patience.spent_on(lambda: work(session, ledger), ledger.holders)
            except Exception as error:
                if tries < TRIES and (isinstance(error, (TargetChanged, RowsChangedError)) or is_transient(error)):
                    log.info("table=%s partition=%s try=%d, trying again: %s", table, partition, tries, error)
                    time.sleep(0.05 * 2**tries)
                    continue
                ours = _explained(error, table, partition, ledger) if is_driver_error(error) else error
                if refused and isinstance(ours, IdempotentError) and (is_last or not ours.retryable):
                    _write_down(refused, ours, session, ledger)
                if ours is error:
                    raise
                raise ours from error
    raise AssertionError("unreachable: the last try returns or raises")


def _write_down(refused: Refused, error: IdempotentError, session: Session, ledger: Ledger) -> None:
    """Tell of a refusal; when that fails, the refusal itself is still what has to be seen."""
    for _ in range(3):
        try:
            refused(error, session, ledger)
        except Exception as trouble:  # noqa: BLE001, whatever it is
            log.warning("not written to the ledger: %s", trouble)
            if is_transient(trouble):
                continue
        return


def _connected(connect: Connect, table: str, partition: str) -> Any:
    try:
        return connect()
    except Exception as error:
        if not is_driver_error(error):
            raise
        raise UnreachableError(address=f"{table} {partition}", reason=reason(error)) from error


def session_name(attempt: Attempt, table: str, partition: str) -> str:
    """Who a session is, for those who wait for it; what matters most first, since PostgreSQL keeps 63 bytes."""
    task = f"{attempt.task_id.rpartition('.')[2]}#{attempt.try_number}" if attempt.task_id else "run"
    return f"airflow_idempotent {task} {partition} {table}"


def _explained(error: Exception, table: str, partition: str, ledger: Ledger) -> Exception:
    """The error in our words; a lock that was not had names its holders."""
    ours = refusal(error, table, partition)
    if isinstance(ours, LockTimeoutError):
        with suppress(Exception):  # who holds it is help, not the point
            return replace(ours, holders=ledger.holders(table, partition))
    return ours

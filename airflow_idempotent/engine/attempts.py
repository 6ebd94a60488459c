"""One attempt at the database: a connection of its own, a few tries, and errors that say what to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from airflow_idempotent.core.step import Attempt, Receipt, Timeouts
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import is_driver_error, is_transient, refusal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import LockTimeoutError

log = logging.getLogger(__name__)
Connect = Callable[[], Any]
Work = Callable[[Session, Ledger], Receipt]
TRIES = 6


class TargetChanged(Exception):  # noqa: N818, a reason to begin again, not an error
    """The table is no longer what the step was built for; build it again. Nothing was written."""


def attempt_at(
    work: Work, *, table: str, partition: str, connect: Connect, timeouts: Timeouts, attempt: Attempt | None = None
) -> Receipt:
    """Do the work on a new connection, which is closed whatever happens.

    Deadlocks, serialization failures and a table altered meanwhile are tried again, with pauses of
    0.1 to 1.6 seconds; the whole transaction runs again, which is harmless by law.

    Raises:
        IdempotentError: anything else the database refuses, in our words.
    """
    attempt = attempt or Attempt()
    with closing(connect()) as connection:
        session = Session(connection, timeouts=timeouts, application_name=f"airflow_idempotent {attempt}".strip())
        ledger = Ledger(session, attempt)
        for tries in range(1, TRIES + 1):
            try:
                ledger.install()
                return work(session, ledger)
            except Exception as error:
                again = isinstance(error, TargetChanged) or is_transient(error)
                if again and tries < TRIES:
                    log.info("table=%s partition=%s try=%d, trying again: %s", table, partition, tries, error)
                    time.sleep(0.05 * 2**tries)
                elif is_driver_error(error):
                    raise _explained(error, table, partition, ledger) from error
                else:
                    raise
    raise AssertionError("unreachable: the last try returns or raises")


def _explained(error: Exception, table: str, partition: str, ledger: Ledger) -> Exception:
    """The error in our words; a lock that was not had names its holders."""
    ours = refusal(error, table, partition)
    if isinstance(ours, LockTimeoutError):
        with suppress(Exception):  # who holds it is help, not the point
            return replace(ours, holders=ledger.holders(table, partition))
    return ours

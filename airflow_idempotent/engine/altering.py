"""Altering a table that others are reading: wait shortly, let them pass, try again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import LOCK_NOT_AVAILABLE, reason, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import LockTimeoutError
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)
SAVEPOINT, BACK_TO_SAVEPOINT = Statement("SAVEPOINT idem_alter"), Statement("ROLLBACK TO SAVEPOINT idem_alter")
T = TypeVar("T")
LONGEST_PAUSE = 15.0
LOCK_TIMEOUT = 300.0  # where the server's own is left, which may be endless


class InTheWay(Exception):  # noqa: N818, a reason to begin again, not an error
    """Somebody works with a table that is to be altered, who may be gone in a moment. Nothing was changed."""


def alter(session: Session, statements: Sequence[Statement]) -> None:
    """Run statements that need a table for themselves and give up soon: whoever comes queues behind them.

    Raises:
        InTheWay: they did not get it.
    """
    with session.waiting_shortly():
        for statement in statements:
            try:
                session.execute(statement)
            except Exception as error:
                if sqlstate(error) == LOCK_NOT_AVAILABLE:
                    raise InTheWay(reason(error)) from error
                raise


def alter_in_turns(work: Work, statements: Sequence[Statement]) -> None:
    """The same at the end of a load, which is not thrown away for a reader: what it did before stays, and waits.

    In the pauses the transaction goes on, and with it the lock that keeps out other loads of the partition, but
    none that readers or other writers would wait for.

    Raises:
        LockTimeoutError: somebody was in the way until ``lock_timeout`` was used up.
    """
    session = work.session

    def once() -> None:
        session.execute(SAVEPOINT)
        try:
            alter(session, statements)
        except InTheWay:
            session.execute(BACK_TO_SAVEPOINT)
            raise

    Patience(**work.where, timeouts=work.step.timeouts).spent_on(once, Ledger(session).holders_now)


@dataclass
class Patience:
    """How long it may go on to find others in the way: ``lock_timeout``, from the first time on."""

    table: str
    partition: str
    timeouts: Timeouts
    pause: float = 1.0
    until: float | None = None

    def spent_on(self, work: Callable[[], T], holders: Callable[..., tuple[str, ...]]) -> T:
        """Do the work; while somebody is in the way, again, with pauses that double.

        In a pause nothing is locked that others want, so those who queued behind us go first.

        Raises:
            LockTimeoutError: somebody was in the way all the time; nothing was changed.
        """
        while True:
            try:
                return work()
            except InTheWay as obstacle:
                found: tuple[str, ...] = ()
                with suppress(Exception):  # who it is is help, not the point
                    found = holders(self.table, self.partition, readers=True)
                if not self._waits(found):
                    raise self._used_up(obstacle, found) from obstacle.__cause__

    def _waits(self, holders: tuple[str, ...]) -> bool:
        """Sleep; False when it was long enough."""
        now = time.monotonic()
        if self.until is None:
            self.until = now + (LOCK_TIMEOUT if self.timeouts.lock is None else self.timeouts.lock)
        pause = min(self.pause, self.until - now)
        if pause <= 0:
            return False
        held = "; ".join(holders) or "somebody who is gone"
        log.warning("table=%s partition=%s in the way: %s; again in %.1f s", self.table, self.partition, held, pause)
        time.sleep(pause)
        self.pause = min(2 * self.pause, LONGEST_PAUSE)
        return True

    def _used_up(self, obstacle: InTheWay, holders: tuple[str, ...]) -> LockTimeoutError:
        return LockTimeoutError(
            table=self.table,
            partition=self.partition,
            reason=str(obstacle),
            sqlstate=LOCK_NOT_AVAILABLE,
            holders=holders,
        )

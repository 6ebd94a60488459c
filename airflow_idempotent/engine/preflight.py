"""What a swap would do now, without doing it: for who has to wait for its time, or to ask somebody first."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.version import SwapOrder, Swapped, Version
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import standing
from airflow_idempotent.engine.swap import ready_version
from airflow_idempotent.engine.way_back import WayBack, way_back


@dataclass(frozen=True, slots=True)
class Preflight:
    """The version that would become live in place of ``live``, and the way back from there."""

    live: Version
    coming: Version
    way_back: WayBack


def preflight(order: SwapOrder, *, connect: Connect, attempt: Attempt | None = None) -> Preflight | Swapped:
    """Look whether a swap could be done now; the proof of it where it is done already. Nothing is written or locked.

    Raises:
        IdempotentError: what the swap would raise before it changes anything.
    """

    def work(session: Session, ledger: Ledger) -> Preflight | Swapped:
        with session.transaction():
            journal = Journal(session, attempt)
            now = standing(order.live, session, journal)
            coming = ready_version(order, now, session, journal)
            if isinstance(coming, Swapped):
                return coming
            return Preflight(now.live, coming, way_back(order, now.live, session, journal))

    return attempt_at(
        work, table=order.table, partition="swap", connect=connect, timeouts=order.timeouts, attempt=attempt
    )

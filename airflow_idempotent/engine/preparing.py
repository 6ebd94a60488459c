"""Before a swap, and before anybody waits for it: indexes are built, and the planner gets to know the table."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.version import SwapOrder, Swapped, Version
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.children import place_of
from airflow_idempotent.engine.exchanging import SWAP, WOULD_NOT_HELP
from airflow_idempotent.engine.inventory import inventory
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import is_driver_error, reason, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import Standing, standing
from airflow_idempotent.plan.preparing import indexes_to_build
from airflow_idempotent.sql import swap as sql
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)
Choice = Callable[[Standing, Session, Journal], Version | Swapped]


def prepare(order: SwapOrder, choose: Choice, *, connect: Connect, attempt: Attempt | None = None) -> None:
    """Build the indexes that the live table has and the coming one lacks, each in a transaction of its own.

    Readers and writers of the live table notice nothing; loads into the shadow wait for the index that is being built.
    Killed and tried again, it goes on with those that are missing. A shadow that was built as it is
    on purpose (``allow_changes``) is left so, unless loads have built it, which make keys only.

    Raises:
        IdempotentError: the swap would be refused; nothing was built for nothing.
    """

    def work(session: Session, ledger: Ledger) -> None:
        with session.transaction():
            journal = Journal(session, attempt)
            now = standing(order.live, session, journal)
            coming = choose(now, session, journal)
            if isinstance(coming, Swapped) or place_of(now.live, session):
                return
            wanted = _wanted(order, now.live, coming, session)
            [(is_known,)] = session.query(sql.is_known(coming.relation))
        for number, statement in enumerate(wanted, start=1):
            _build(statement, order.table, f"{number} of {len(wanted)}", session)
        if wanted or not is_known:
            with session.transaction():
                session.execute(sql.analyze(coming.relation))

    attempt_at(work, table=order.table, partition=SWAP, connect=connect, timeouts=order.timeouts, attempt=attempt)


def _wanted(order: SwapOrder, live: Version, coming: Version, session: Session) -> tuple[Statement, ...]:
    if order.allow_changes and order.gates is None:
        return ()
    ours, theirs = (inventory(item.relation, item.oid, session) for item in (live, coming))
    return indexes_to_build(ours, theirs, unique=not order.allow_changes)


def _build(statement: Statement, table: str, of: str, session: Session) -> None:
    """Build one; what the new columns do not allow is left out, or refused by the swap itself."""
    started = time.monotonic()
    try:
        with session.transaction():
            session.execute(statement)
    except Exception as error:
        if not is_driver_error(error) or not sqlstate(error).startswith(WOULD_NOT_HELP):
            raise
        log.warning("swap table=%s index %s not built: %s: %s", table, of, reason(error), statement)
    else:
        log.info("swap table=%s index %s built in %.1f s: %s", table, of, time.monotonic() - started, statement)

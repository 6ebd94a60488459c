"""Changing a watermark by hand: what the ledger derives is put aside from then on, and who did it is written down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import WatermarkError
from airflow_idempotent.sql import watermarks as sql


@dataclass(frozen=True, slots=True)
class Changed:
    """A watermark before and after. ``written`` is False when there was nothing to change."""

    table: str
    cursor: str
    old: datetime | None
    new: datetime | None
    written: bool = True


def change_watermark(table: str, new: datetime | None, *, connect: Connect, by: str, reason: str) -> Changed:
    """Set the watermark of an incremental query, or with None let the ledger's events alone say it again.

    Rows are left alone: the next scheduled run reads from there on. Waits for loads that are running, so that
    each of them counts before the change or after it. A second run changes nothing more.

    Raises:
        WatermarkError: nothing reads from a watermark of this table.
        LockTimeoutError: a load holds the table; nothing was changed.
    """

    def work(session: Session, ledger: Ledger) -> Changed:
        with session.transaction():
            ledger.lock_table(table)
            rows = session.query(sql.watermark_of(table))
            if not rows or rows[0][0] is None:
                raise WatermarkError(table=table)
            cursor, old = rows[0]
            [(is_set,)] = session.query(sql.is_set(table))
            if new == old if new else not is_set:
                return Changed(table, cursor, old, old, written=False)
            [(newest,)] = session.query(sql.newest_event(table))
            values = {"table": table, "cursor": cursor, "old": old, "new": new, "by": by, "reason": reason}
            values |= {"kind": "set", "after": newest} if new else {"kind": "recompute", "after": 0}
            session.execute(sql.record_change(values))
            [(_, found)] = session.query(sql.watermark_of(table))
            return Changed(table, cursor, old, found)

    return attempt_at(work, table=table, partition="watermark", connect=connect, timeouts=Timeouts())

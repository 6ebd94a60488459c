"""Changing a watermark by hand: what the ledger derives is put aside from then on, and who did it is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.window import Position
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
    old: Position | None
    new: Position | None
    written: bool = True


def change_watermark(table: str, new: Position | None, *, connect: Connect, by: str, reason: str) -> Changed:
    """Set the watermark of an incremental query, or with None let the ledger's events alone say it again.

    Rows are left alone: the next scheduled run reads from there on. Waits for loads that are running, so that
    each of them counts before the change or after it. A second run changes nothing more.

    Raises:
        WatermarkError: nothing reads from a watermark of this table, or not from one of that kind.
        LockTimeoutError: a load holds the table; nothing was changed.
    """

    def work(session: Session, ledger: Ledger) -> Changed:
        with session.transaction():
            ledger.lock_table(table)
            version, cursor, old, numbered = _standing(table, session)
            if new is not None and isinstance(new, int) is not numbered:
                kind = "a number" if numbered else "an instant"
                raise WatermarkError(table=table, reason=f"its cursor {cursor!r} is {kind}, {new} is none")
            [(is_set,)] = session.query(sql.is_set(table, version))
            if new == old if new is not None else not is_set:
                return Changed(table, cursor, old, old, written=False)
            [(newest,)] = session.query(sql.newest_event(table, version))
            values = {
                "table": table,
                "version": version,
                "cursor": cursor,
                "by": by,
                "reason": reason,
                **_places("old", old),
            }
            values |= _places("new", new)
            values |= {"kind": "recompute", "after": 0} if new is None else {"kind": "set", "after": newest}
            session.execute(sql.record_change(values))
            return Changed(table, cursor, old, _standing(table, session)[2])

    return attempt_at(work, table=table, partition="watermark", connect=connect, timeouts=Timeouts())


def _standing(table: str, session: Session) -> tuple[int, str, Position | None, bool]:
    """The version that is live, its cursor, how far that is, and whether it is a number."""
    rows = session.query(sql.watermark_of(table))
    if not rows or rows[0][1] is None:
        raise WatermarkError(table=table)
    version, cursor, time, number = rows[0]
    [(numbered,)] = session.query(sql.is_numbered(table, cursor, version))
    return version, cursor, number if numbered else time, numbered


def _places(name: str, position: Position | None) -> dict[str, Any]:
    """A place on a cursor in the columns of its kind."""
    number = position if isinstance(position, int) else None
    return {name: None if number is not None else position, f"{name}_number": number}

"""The gates of a swap: what the shadow must have before readers read it."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_idempotent.core.version import Cutover, Version
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import CutoverError
from airflow_idempotent.sql import cutover as sql

SHOWN = 10


def refuse_unready(gates: Cutover, live: Version, coming: Version, session: Session) -> None:
    """Every partition that readers have must be there and validated, and the rows about as many.

    Raises:
        CutoverError: what is not so; ``waiting`` when loading on will mend it.
    """
    if waiting := (*_lacking(gates, live, coming, session), *_unclean(gates, coming, session)):
        raise CutoverError(table=live.table, version=coming.number, reasons=waiting, waiting=True)
    if gates.max_row_change is None:
        return
    [(rows, others)] = session.query(sql.count_both(live.relation, coming.relation))
    if abs(others - rows) > gates.max_row_change * rows:
        change = f"{others:,} rows, the live table has {rows:,}: more than {gates.max_row_change:.2%} apart"
        raise CutoverError(table=live.table, version=coming.number, reasons=(change,))


def _lacking(gates: Cutover, live: Version, coming: Version, session: Session) -> Iterator[str]:
    since = coming.since or "-infinity"
    where = (live.table, live.number, coming.number, since)
    rows = session.query(sql.lacking_partitions(*where, compared=gates.compared))
    yield from (f"partition {key} {lack}" for key, lack in rows[:SHOWN])
    if len(rows) > SHOWN:
        yield f"and {len(rows) - SHOWN:,} more"


def _unclean(gates: Cutover, coming: Version, session: Session) -> Iterator[str]:
    wanted, compared = max(gates.clean_intervals, 1), gates.compared and gates.clean_intervals > 0
    since = coming.since or "-infinity"
    rows = session.query(sql.newest_partitions(coming.table, coming.number, wanted, since, compared=compared))
    yield from (f"partition {key}, one of its newest, {state}" for key, state, is_well in rows if not is_well)
    if len(rows) < wanted:
        yield f"{len(rows)} of its partitions are loaded, {wanted} must be"

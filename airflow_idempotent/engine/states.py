"""Reading the ledger: what stands where, for plans, status and reports."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from typing import Any

from airflow_idempotent.core.step import State
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.plan.resolve import Known
from airflow_idempotent.sql import ledger as sql


def partition_states(
    connect: Connect, table: str | None = None, start: datetime | None = None, end: datetime | None = None
) -> list[dict[str, Any]]:
    """The state of each partition that has one, with the effects of its newest load, in order.

    Keys are ``sql.ledger.STATUS_COLUMNS``. ``start`` and ``end`` bound the partitions' starts, half-open.
    """
    with closing(connect()) as connection:
        session = Session(connection)
        Ledger(session).install()
        with session.transaction():
            rows = session.query(sql.partition_states(table, start, end))
    return [dict(zip(sql.STATUS_COLUMNS, row, strict=True)) for row in rows]


def known_partitions(connect: Connect, table: str, start: datetime, end: datetime) -> dict[str, Known]:
    """What the ledger says of a table's partitions, by key, for ``plan.resolve``."""
    rows = partition_states(connect, table, start, end)
    return {row["partition_key"]: Known(State(row["state"]), row["spec_fingerprint"] or "") for row in rows}


def watermarks(connect: Connect) -> list[dict[str, Any]]:
    """Per table the greatest version published by scheduled runs."""
    with closing(connect()) as connection:
        session = Session(connection)
        Ledger(session).install()
        with session.transaction():
            rows = session.query(sql.WATERMARKS)
    return [dict(zip(("table_name", "watermark", "loaded_until", "recorded_at"), row, strict=True)) for row in rows]

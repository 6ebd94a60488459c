"""Reading the ledger: what stands where, for plans, status and reports."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from typing import Any

from airflow_idempotent.core.step import State
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import is_driver_error, refusal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.plan.resolve import Known
from airflow_idempotent.sql import ledger as sql
from airflow_idempotent.sql.ledger_schema import SCHEMA_VERSION
from airflow_idempotent.sql.statement import Statement


def partition_states(
    connect: Connect,
    table: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    version: int | None = None,
) -> list[dict[str, Any]]:
    """The state of each partition that has one, with the effects of its newest load, in order.

    Of the live version, or of the one named.

    Keys are ``sql.ledger.STATUS_COLUMNS``. ``start`` and ``end`` bound the partitions' starts, half-open.

    Raises:
        DatabaseError: the ledger cannot be read.
    """
    rows = _read(connect, sql.partition_states(table, start, end, version), table)
    return [dict(zip(sql.STATUS_COLUMNS, row, strict=True)) for row in rows]


def known_partitions(
    connect: Connect, table: str, start: datetime, end: datetime, version: int | None = None
) -> dict[str, Known]:
    """What the ledger says of a table's partitions, by key, for ``plan.resolve``."""
    rows = partition_states(connect, table, start, end, version)
    return {row["partition_key"]: Known(State(row["state"]), row["spec_fingerprint"] or "") for row in rows}


def watermarks(connect: Connect) -> list[dict[str, Any]]:
    """Per table the greatest version published by scheduled runs."""
    rows = _read(connect, sql.WATERMARKS)
    return [dict(zip(("table_name", "watermark", "loaded_until", "recorded_at"), row, strict=True)) for row in rows]


def _read(connect: Connect, statement: Statement, table: str | None = None) -> list[tuple[Any, ...]]:
    """Ask the ledger. A database without one is left without, so that reading needs no right to write."""
    with closing(connect()) as connection:
        session = Session(connection)
        ledger = Ledger(session)
        try:
            with session.transaction():
                version = ledger.version()
            if not version:
                return []
            if version < SCHEMA_VERSION:
                ledger.install()
            with session.transaction():
                return session.query(statement)
        except Exception as error:
            if not is_driver_error(error):
                raise
            raise refusal(error, table or "all tables", "ledger") from error

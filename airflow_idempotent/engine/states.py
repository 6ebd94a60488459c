"""Reading the ledger: what stands where, for plans, status and reports."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import datetime
from typing import Any

from airflow_idempotent.core.audit import Cause, Finding
from airflow_idempotent.core.divergence import Compared, Comparison, Likeness, Unlike
from airflow_idempotent.core.step import State
from airflow_idempotent.core.window import Position
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.findings import as_finding
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import is_driver_error, refusal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.plan.resolve import Known
from airflow_idempotent.sql import ledger as sql
from airflow_idempotent.sql import trail
from airflow_idempotent.sql import watermarks as marks
from airflow_idempotent.sql.audit import open_drift as open_findings
from airflow_idempotent.sql.divergence import newest as newest_comparisons
from airflow_idempotent.sql.fleet import FLEET, FLEET_COLUMNS
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

    Keys are ``sql.ledger.STATUS_COLUMNS``. ``start`` and ``end`` bound the partitions' starts, half-open.

    Raises:
        DatabaseError: the ledger cannot be read.
    """
    rows = _read(connect, sql.partition_states(table, start, end, version), table)
    return [dict(zip(sql.STATUS_COLUMNS, row, strict=True)) | {"drift": list(row[-1] or ())} for row in rows]


def known_partitions(
    connect: Connect, table: str, start: datetime, end: datetime, version: int | None = None
) -> dict[str, Known]:
    """What the ledger says of a table's partitions, by key, for ``plan.resolve``."""
    rows = partition_states(connect, table, start, end, version)
    return {
        row["partition_key"]: Known(
            State(row["state"]), row["spec_fingerprint"] or "", tuple(Cause(cause) for cause in row["drift"])
        )
        for row in rows
    }


def partition_events(connect: Connect, table: str, partition: str) -> list[dict[str, Any]]:
    """Every event of a partition, oldest first; keys are ``HISTORY_COLUMNS``."""
    rows = _read(connect, trail.history_of(table, partition), table)
    return [dict(zip(trail.HISTORY_COLUMNS, row, strict=True)) for row in rows]


def failed_checks(connect: Connect, table: str, partition: str) -> list[dict[str, Any]]:
    """The checks that the newest event of a partition says have failed; keys are ``FAILED_COLUMNS``."""
    rows = _read(connect, trail.failed_checks(table, partition), table)
    return [dict(zip(trail.FAILED_COLUMNS, row, strict=True)) for row in rows]


def open_drift(connect: Connect, table: str | None = None) -> tuple[Finding, ...]:
    """What audits have found and nothing has healed, of one table or of all."""
    return tuple(as_finding(row) for row in _read(connect, open_findings(table), table))


def fleet(connect: Connect) -> list[dict[str, Any]]:
    """All tables, one row each, of the version that is live; keys are ``FLEET_COLUMNS``."""
    return [dict(zip(FLEET_COLUMNS, row, strict=True)) for row in _read(connect, FLEET)]


def watermarks(connect: Connect, table: str | None = None) -> list[dict[str, Any]]:
    """Per table how far scheduled runs have published, without a gap; keys are ``WATERMARK_COLUMNS``."""
    rows = _read(connect, marks.watermarks(table), table)
    return [dict(zip(marks.WATERMARK_COLUMNS, row, strict=True)) for row in rows]


def gaps(connect: Connect, table: str | None = None) -> list[dict[str, Any]]:
    """Scheduled partitions that keep watermarks from moving, oldest first; keys are ``GAP_COLUMNS``."""
    return [dict(zip(marks.GAP_COLUMNS, row, strict=True)) for row in _read(connect, marks.gaps(table), table)]


def late_rows(connect: Connect, table: str | None = None) -> list[dict[str, Any]]:
    """Partitions whose newest load had rows that were late, or of no time or the future; keys are ``LATE_COLUMNS``."""
    return [dict(zip(marks.LATE_COLUMNS, row, strict=True)) for row in _read(connect, marks.late(table), table)]


def watermark_changes(connect: Connect, table: str | None = None) -> list[dict[str, Any]]:
    """What people have changed about watermarks, newest first; keys are ``CHANGE_COLUMNS``."""
    return [dict(zip(marks.CHANGE_COLUMNS, row, strict=True)) for row in _read(connect, marks.changes(table), table)]


def watermark_of(connect: Connect, table: str, cursor: str) -> Position | None:
    """The watermark of an incremental query; None when nothing was published by that cursor yet."""
    rows = _read(connect, marks.watermark_of(table), table)
    return next((time if number is None else number for _, name, time, number in rows if name == cursor), None)


def comparisons(
    connect: Connect, table: str | None = None, version: int | None = None, *, everything: bool = False
) -> tuple[Compared, ...]:
    """Partitions of new versions that are not as in the live table, as they were compared last; or every one."""
    return tuple(map(_as_compared, _read(connect, newest_comparisons(table, version, everything=everything), table)))


def _as_compared(row: tuple[Any, ...]) -> Compared:
    name, version, live, partition, likeness, rows, live_rows, digest, live_digest, report, message, at = row
    unlike = tuple(Unlike.from_dict(item) for item in json.loads(report))
    reason = message if Likeness(likeness) is Likeness.NOT_COMPARED else ""
    found = Comparison(Likeness(likeness), rows, live_rows, digest, live_digest, unlike, reason)
    return Compared(name, version, live, partition, found, at)


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

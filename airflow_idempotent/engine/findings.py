"""Findings in the ledger: opened once, closed when they are healed, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_idempotent.core.audit import WHOLE_TABLE, Cause, Finding, Look
from airflow_idempotent.core.locks import lock_key
from airflow_idempotent.engine.baseline import as_text
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql import audit as sql
from airflow_idempotent.sql.ledger import LOCK
from airflow_idempotent.sql.statement import Statement


def write_down(table: str, look: Look, run: str, session: Session, version: int = 1) -> int:
    """Append what an audit saw of one partition; how many findings that closes.

    One that is open already is left alone, so that a cause alarms once however often it is seen. What could
    not be judged stays as it was.
    """
    with session.transaction():
        lock_findings(table, session)
        if look.event_id is None:
            return 0
        if look.partition != WHOLE_TABLE:
            _record_look((table, version), look, run, session)
        known: dict[str, bool] = dict(session.query(sql.latest_drift(table, version, look.partition)))
        found = {item.cause: item for item in look.findings}
        for cause, item in found.items():
            if not known.get(cause):
                _record((table, version), item, "open", run, session)
        healed = [Cause(cause) for cause in known if Cause(cause) in look.judged - found.keys()]
        for cause in healed:
            gone = Finding(table, look.partition, cause, "", look.event_id)
            _record((table, version), gone, "closed", run, session)
    return len(healed)


def lock_findings(table: str, session: Session) -> None:
    """Keep other audits of the table from writing until the transaction ends, or two would open one finding."""
    with session.waiting():
        session.query(Statement(LOCK, {"key": lock_key(f"airflow_idempotent/audit/{table}")}))


def open_findings(session: Session, table: str | None = None, run: str = "") -> tuple[Finding, ...]:
    """All that is open now; new is what this run has opened, by whichever of its tries."""
    with session.transaction():
        rows = session.query(sql.open_drift(table))
    return tuple(as_finding(row, run) for row in rows)


def as_finding(row: Sequence[Any], run: str = "") -> Finding:
    """A row of ``sql.audit.open_drift``."""
    name, partition, cause, event_id, message, found_by, since = row
    return Finding(name, partition, Cause(cause), message, event_id, since, bool(run) and found_by == run)


def _record_look(of: tuple[str, int], look: Look, run: str, session: Session) -> None:
    values: dict[str, Any] = {
        "event": look.event_id,
        "row_count": look.row_count,
        "digest": look.digest,
        "columns": as_text(look.columns) if look.baseline else None,
        "baseline": look.baseline,
        "run": run,
        "began": look.began,
    }
    session.execute(sql.record_audit(*of, look.partition, **values))


def _record(of: tuple[str, int], item: Finding, state: str, run: str, session: Session) -> None:
    values: dict[str, Any] = {
        "cause": str(item.cause),
        "state": state,
        "event": item.event_id,
        "message": item.message,
        "run": run,
    }
    session.execute(sql.record_drift(*of, item.partition, **values))

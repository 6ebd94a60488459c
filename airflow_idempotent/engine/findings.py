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

Named = tuple[str, int]
"""A table and its version, as the ledger has them."""


def write_down(named: Named, look: Look, run: str, session: Session) -> int:
    """Append what an audit saw of one partition; how many findings that closes.

    One that is open already is left alone, so that a cause alarms once however often it is seen. What could
    not be judged stays as it was.
    """
    with session.transaction():
        table = named[0]
        lock_findings(table, session)
        if look.event_id is None:
            return 0
        if look.partition != WHOLE_TABLE:
            _record_look(named, look, run, session)
        known: dict[str, bool] = dict(session.query(sql.latest_drift(*named, look.partition)))
        found = {item.cause: item for item in look.findings}
        for cause, item in found.items():
            if not known.get(cause):
                _record(named, item, "open", run, session)
        healed = [Cause(cause) for cause in known if Cause(cause) in look.judged - found.keys()]
        for cause in healed:
            _record(named, Finding(table, look.partition, cause, "", look.event_id), "closed", run, session)
    return len(healed)


def lock_findings(table: str, session: Session) -> None:
    """Keep other audits of the table from writing until the transaction ends, or two would open one finding."""
    with session.waiting():
        session.query(Statement(LOCK, {"key": lock_key(f"airflow_idempotent/audit/{table}")}))


def open_findings(session: Session, named: Named, run: str = "") -> tuple[Finding, ...]:
    """All that is open of a table now; new is what this run has opened, by whichever of its tries."""
    with session.transaction():
        rows = session.query(sql.open_drift(*named))
    return tuple(as_finding(row, run) for row in rows)


def as_finding(row: Sequence[Any], run: str = "") -> Finding:
    """A row of ``sql.audit.open_drift``."""
    name, partition, cause, event_id, message, found_by, since = row
    return Finding(name, partition, Cause(cause), message, event_id, since, bool(run) and found_by == run)


def _record_look(named: Named, look: Look, run: str, session: Session) -> None:
    values: dict[str, Any] = {
        "event": look.event_id,
        "row_count": look.row_count,
        "digest": look.digest,
        "columns": as_text(look.columns) if look.baseline else None,
        "baseline": look.baseline,
        "run": run,
        "began": look.began,
    }
    session.execute(sql.record_audit(*named, look.partition, **values))


def _record(named: Named, item: Finding, state: str, run: str, session: Session) -> None:
    values: dict[str, Any] = {
        "cause": str(item.cause),
        "state": state,
        "event": item.event_id,
        "message": item.message,
        "run": run,
    }
    session.execute(sql.record_drift(*named, item.partition, **values))

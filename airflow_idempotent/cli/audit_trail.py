"""``audit-trail verify``: whether anybody has altered or removed what the ledger says."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.files import table_name
from airflow_idempotent.cli.output import DONE, FINDINGS, Output
from airflow_idempotent.core.trail import Trail
from airflow_idempotent.engine.trail import verify_trail


def run(args: Namespace, out: Output) -> int:
    """Verify the chains of one table, or of all. Nothing is written; exit code 1 when a link is broken."""
    table = table_name(args.table, command="audit-trail") if args.table else None
    trail = verify_trail(connector(args.dsn, command="audit-trail"), table)
    out.document({"events": trail.events, "chains": trail.chains, "broken": [asdict(item) for item in trail.broken]})
    out.say(*_text(trail))
    return FINDINGS if trail.broken else DONE


def _text(trail: Trail) -> list[str]:
    counted = f"{trail.events:,} events of {trail.chains:,} partitions"
    if not trail.broken:
        return [f"{counted}: each says what was written, and none is missing."]
    lines = [f"{item.table} {item.partition}: {item.what}: {item.message}" for item in trail.broken]
    advice = (
        "Compare with a backup of the schema airflow_idempotent; `airflow-idempotent audit` looks at the data itself."
    )
    return [f"{counted}: {len(trail.broken)} broken links.", *lines, advice]

"""``why``: how a partition came to be as it is, and what to do about it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.files import table_name
from airflow_idempotent.cli.output import DONE, Output, aligned
from airflow_idempotent.core.audit import Finding, shown_state
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.states import failed_checks, open_drift, partition_events

Rows = list[dict[str, Any]]
EFFECTS = tuple(Effects().as_dict())
NEXT = {
    "failed": "Correct what the message names, then clear the task, or: airflow-idempotent run SPEC --partition {key}",
    "rejected": "The batch is kept. Correct its source or the check, then clear the task, or: "
    "airflow-idempotent run SPEC --partition {key}",
    "published": "Nobody has validated it: clear the task validate, or: airflow-idempotent run SPEC --partition {key}",
    "landed": "It waits to be loaded: clear the task stage_merge, or: airflow-idempotent run SPEC --partition {key}",
    "drifted": "airflow-idempotent run SPEC --partition {key} loads it anew; "
    "airflow-idempotent reconcile SPEC --accept lets it be right as it is.",
    "stale": "airflow-idempotent run SPEC --partition {key} loads it by the spec as it is now.",
    "validated": "Nothing.",
}
"""What to do about a partition in that state."""


def run(args: Namespace, out: Output) -> int:
    """Print every event of a partition, oldest first, what is wrong with it, and the next move. Nothing is written."""
    table, key = table_name(args.table, command="why"), args.partition
    connect = connector(args.dsn, command="why")
    events = partition_events(connect, table, key)
    checks = failed_checks(connect, table, key) if events else []
    drift = [item for item in open_drift(connect, table) if item.partition == key]
    plain = [{"cause": str(item.cause), "message": item.message, "found_at": item.since} for item in drift]
    out.document({"table": table, "partition": key, "events": events, "failed_checks": checks, "drift": plain})
    out.say(*(_text(table, key, events, checks, drift) if events else _unknown(table, key)))
    return DONE


def _unknown(table: str, key: str) -> Iterator[str]:
    yield f"{table} {key}: the ledger has no event of it. No run has come as far as to land it."
    missing = "airflow-idempotent plan SPEC --from-date D --to-date D --reprocess-behavior missing"
    yield f"What is missing of a range: {missing}"
    yield f"Which tables and partitions there are: airflow-idempotent status {table}"


def _text(table: str, key: str, events: Rows, checks: Rows, drift: list[Finding]) -> Iterator[str]:
    newest = events[-1]
    state = shown_state(newest["state"], [item.cause for item in drift])
    yield f"{table} {key}: {state} since {newest['recorded_at']:%Y-%m-%d %H:%M:%S}. {_readers(events)}"
    yield ""
    header = ("when", "version", "step", "state", "batch", "by", "what")
    yield from aligned(header, [_row(event) for event in events])
    yield ""
    for check in checks:
        yield f"{check['check_name']}: {check['message']}"
        yield f"  {check['query']}"
    yield from (f"{item.cause}: {item.message}" for item in drift)
    yield f"What to do: {NEXT[state].format(key=key)}"


def _readers(events: Rows) -> str:
    """Which batch readers see."""
    loads = [event for event in events if event["step"] == "stage_merge" and event["state"] == "published"]
    if not loads:
        return "Readers see no batch of it."
    return f"Readers see batch {loads[-1]['batch_id']}, loaded {loads[-1]['recorded_at']:%Y-%m-%d %H:%M:%S}."


def _row(event: dict[str, Any]) -> tuple[Any, ...]:
    effects = ", ".join(f"{event[name]:,} {name}" for name in EFFECTS if event[name])
    first, *_ = event["message"].splitlines() or [""]
    said = first.removeprefix(f"{event['table_name']} {event['partition_key']}: ") or effects
    if event["step"] == "stage_merge" and event["state"] == "published":
        said = effects or "no rows"
    elif event["state"] == "validated":
        said = said or "every check passed, or only warned"
    by = event["attempt"] or f"{event['lane']}, command line"
    when = f"{event['recorded_at']:%Y-%m-%d %H:%M:%S}"
    return (when, f"v{event['table_version']}", event["step"], event["state"], event["batch_id"], by, said)

"""``status``: what the ledger says of each partition, and how far each table is; of many tables a line each."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.files import table_name
from airflow_idempotent.cli.output import DONE, Output, aligned
from airflow_idempotent.core.audit import Finding, shown_state
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.states import fleet, gaps, late_rows, open_drift, partition_states, watermarks

STATES = ("validated", "published", "landed", "rejected", "failed", "drifted")
EFFECTS = tuple(Effects().as_dict())
Rows = list[dict[str, Any]]


def run(args: Namespace, out: Output) -> int:
    """Print states, batches, the effects of the newest load, and watermarks. Nothing is written."""
    table = table_name(args.table, command="status") if args.table else None
    connect = connector(args.dsn, command="status")
    if table is None and not args.all:
        tables = fleet(connect)
        if len(tables) > 1:
            out.document({"tables": tables})
            out.say(*_fleet_text(tables))
            return DONE
    read = (partition_states, watermarks, gaps, late_rows)
    states, marks, holes, late = (look(connect, table) for look in read)
    drift = open_drift(connect, table)
    plain = [_plain(item) for item in drift]
    out.document({"partitions": states, "watermarks": marks, "gaps": holes, "late": late, "drift": plain})
    if not states:
        out.say(f"The ledger has no partition{f' of {table}' if table else ''}.")
    for name in dict.fromkeys(state["table_name"] for state in states):
        of_table = [[row for row in rows if row["table_name"] == name] for rows in (states, marks, holes, late)]
        out.say(*_table_text(name, [item for item in drift if item.table == name], *of_table), "")
    return DONE


def _fleet_text(tables: Rows) -> list[str]:
    """One line per table; states that no partition has are left out."""
    shown = [state for state in STATES if any(row[state] for row in tables)]
    header = ("table", "partitions", *shown, "loaded until", "kept by what is missing from")
    rows = [
        (
            row["table_name"],
            row["partitions"],
            *(row[state] for state in shown),
            *(f"{at:%Y-%m-%d %H:%M}" if (at := row[name]) else "" for name in ("loaded_until", "gap_start")),
        )
        for row in tables
    ]
    more = "The partitions of one: airflow-idempotent status TABLE; of all: --all."
    return [f"{len(tables)} tables", "", *aligned(header, rows), "", more]


def _plain(item: Finding) -> dict[str, Any]:
    facts = {name: getattr(item, name) for name in ("table", "partition", "message")}
    return facts | {"cause": str(item.cause), "found_at": item.since}


def _table_text(name: str, drift: list[Finding], states: Rows, marks: Rows, holes: Rows, late: Rows) -> list[str]:
    header = ("partition", "state", "batch", "rows", *EFFECTS, "recorded at")
    rows = [
        (
            state["partition_key"],
            shown_state(state["state"], state["drift"]),
            state["batch_id"],
            state["row_count"],
            *(state[effect] for effect in EFFECTS),
            f"{state['recorded_at']:%Y-%m-%d %H:%M:%S}",
        )
        for state in states
    ]
    until = (
        f"watermark {marks[0]['watermark']}, loaded until {marks[0]['loaded_until']}"
        if marks
        else "no watermark: no scheduled run yet"
    )
    if holes:
        until += f"; kept by what is missing from {holes[0]['gap_start']:%Y-%m-%d %H:%M} on ({holes[0]['reason']})"
    said = [_late(row) for row in late] + [_message(state) for state in states if state["message"]]
    said += [f"{item.partition}: {item.cause}: {item.message}" for item in drift]
    return [f"{name}: {until}", "", *aligned(header, rows), *([""] if said else []), *said]


def _late(row: dict[str, Any]) -> str:
    """What came late with a partition's newest load, or had no time, or one to come."""
    counts = {name: count for name, count in row.items() if name not in ("table_name", "partition_key") and count}
    return f"{row['partition_key']}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _message(state: dict[str, Any]) -> str:
    """What went wrong with a partition; some messages name it already."""
    subject = f"{state['table_name']} {state['partition_key']}: "
    return f"{state['partition_key']}: {state['message'].removeprefix(subject)}"

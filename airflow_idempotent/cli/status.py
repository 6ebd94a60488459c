"""``status``: what the ledger says of each partition, and how far each table is."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, Output, aligned
from airflow_idempotent.core.audit import Finding, shown_state
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.states import open_drift, partition_states, watermarks
from airflow_idempotent.errors import UsageError

EFFECTS = tuple(Effects().as_dict())


def run(args: Namespace, out: Output) -> int:
    """Print states, batches, the effects of the newest load, and watermarks. Nothing is written."""
    table = _table(args.table)
    connect = connector(args.dsn, command="status")
    states = partition_states(connect, table)
    marks = [mark for mark in watermarks(connect) if table in (None, mark["table_name"])]
    found = open_drift(connect, table)
    out.document({"partitions": states, "watermarks": marks, "drift": [_plain(item) for item in found]})
    if not states:
        out.say(f"The ledger has no partition{f' of {table}' if table else ''}.")
    for name in dict.fromkeys(state["table_name"] for state in states):
        drift = [item for item in found if item.table == name]
        out.say(*_table_text(name, [state for state in states if state["table_name"] == name], marks, drift), "")
    return DONE


def _table(name: str | None) -> str | None:
    try:
        return str(Relation.parse(name)) if name else None
    except ValueError as error:
        raise UsageError(command="status", reason=str(error)) from None


def _plain(item: Finding) -> dict[str, Any]:
    facts = {name: getattr(item, name) for name in ("table", "partition", "message")}
    return facts | {"cause": str(item.cause), "found_at": item.since}


def _table_text(
    name: str, states: list[dict[str, Any]], marks: list[dict[str, Any]], drift: list[Finding]
) -> list[str]:
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
    mark = next((mark for mark in marks if mark["table_name"] == name), None)
    until = (
        f"watermark {mark['watermark']}, loaded until {mark['loaded_until']}"
        if mark
        else "no watermark: no scheduled run yet"
    )
    failed = [_message(state) for state in states if state["message"]]
    failed += [f"{item.partition}: {item.cause}: {item.message}" for item in drift]
    return [f"{name}: {until}", "", *aligned(header, rows), *([""] if failed else []), *failed]


def _message(state: dict[str, Any]) -> str:
    """What went wrong with a partition; some messages name it already."""
    subject = f"{state['table_name']} {state['partition_key']}: "
    return f"{state['partition_key']}: {state['message'].removeprefix(subject)}"

"""``watermark``: how far tables are and what keeps them; setting it, which is written down; recomputing it."""

from __future__ import annotations

import getpass
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from airflow_idempotent.cli.connection import Connect, connector
from airflow_idempotent.cli.files import instant
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.engine.states import gaps, watermark_changes, watermarks
from airflow_idempotent.engine.watermarks import Changed, change_watermark
from airflow_idempotent.errors import UsageError

Rows = Sequence[dict[str, Any]]


def run(args: Namespace, out: Output) -> int:
    """Show, set or recompute. Only the last two write, and no row of a table."""
    table = _table(args.table)
    if args.action == "show":
        _no_instant(args)
        return _show(connector(args.dsn, command="watermark"), table, out)
    new = _new(args)
    if not table or not (args.reason or "").strip():
        missing = "a TABLE" if not table else "--reason"
        raise UsageError(command="watermark", reason=f"{args.action} needs {missing}", hint=_EXAMPLE)
    changed = change_watermark(
        table, new, connect=connector(args.dsn, command="watermark"), by=args.by or _user(), reason=args.reason.strip()
    )
    out.document(asdict(changed))
    out.say(*_said(args.action, changed))
    return DONE


_EXAMPLE = "airflow-idempotent watermark set analytics.orders 2025-05-01T00:00+00:00 --reason 'the source was restored'"


def _new(args: Namespace) -> datetime | None:
    if args.action == "recompute":
        _no_instant(args)
        return None
    if not args.instant:
        raise UsageError(command="watermark", reason="set needs an INSTANT", hint=_EXAMPLE)
    return instant(args.instant, "UTC", option="INSTANT", command="watermark").astimezone(UTC)


def _no_instant(args: Namespace) -> None:
    if args.instant:
        raise UsageError(command="watermark", reason=f"{args.action} takes no INSTANT", hint=_EXAMPLE)


def _table(name: str | None) -> str | None:
    try:
        return str(Relation.parse(name)) if name else None
    except ValueError as error:
        raise UsageError(command="watermark", reason=str(error)) from None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        raise UsageError(command="watermark", reason="nobody knows who you are", hint="Pass --by NAME.") from None


def _show(connect: Connect, table: str | None, out: Output) -> int:
    marks, holes, changes = (
        [row for row in rows if table in (None, row["table_name"])]
        for rows in (watermarks(connect), gaps(connect), watermark_changes(connect))
    )
    out.document({"watermarks": marks, "gaps": holes, "changes": changes})
    if not marks and not holes:
        out.say(f"No scheduled run{f' of {table}' if table else ''} was published yet.")
    for name in dict.fromkeys(row["table_name"] for row in (*marks, *holes)):
        out.say(*_lines(name, marks, holes, changes))
    return DONE


def _lines(name: str, marks: Rows, holes: Rows, changes: Rows) -> Iterator[str]:
    mark = next((row for row in marks if row["table_name"] == name), None)
    if mark is None:
        yield f"{name}: no watermark yet"
    else:
        what = f"{mark['cursor_name']} " if mark["cursor_name"] else ""
        until = f", loaded until {mark['loaded_until']:%Y-%m-%d %H:%M}" if mark["loaded_until"] else ""
        by = f", set by {mark['set_by']}" if mark["set_by"] else ""
        yield f"{name}: watermark {what}{mark['watermark'] or '-'}{until}{by}"
    for hole in (row for row in holes if row["table_name"] == name):
        key = f"{hole['partition_key']} " if hole["partition_key"] else ""
        yield f"  kept by {key}[{hole['gap_start']:%Y-%m-%d %H:%M}, {hole['gap_end']:%Y-%m-%d %H:%M}): {hole['reason']}"
    for change in (row for row in changes if row["table_name"] == name):
        what = f"{change['changed_at']:%Y-%m-%d %H:%M:%S} {change['kind']} by {change['changed_by']}"
        to = f"{change['old_watermark']} -> {change['new_watermark'] or 'what the events say'}"
        yield f"  {what}: {to}; {change['reason']}"


def _said(action: str, changed: Changed) -> Iterator[str]:
    if not changed.written:
        yield f"{changed.table}: watermark {changed.cursor} is {changed.old or '-'} already; nothing was changed."
        return
    mark = f"{changed.table}: watermark {changed.cursor}"
    yield f"{mark} {changed.old or '-'} -> {changed.new or '-'}; no row was changed."
    if action == "set" and changed.new and changed.old and changed.new > changed.old:
        yield "Rows between the two that are not loaded yet are read by no scheduled run any more."
    else:
        yield "The next scheduled run reads from there on."

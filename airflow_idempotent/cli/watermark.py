"""``watermark``: how far tables are and what keeps them; setting it, which is written down; recomputing it."""

from __future__ import annotations

import getpass
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from airflow_idempotent.cli.connection import Connect, connector
from airflow_idempotent.cli.files import instant, table_name
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.core.window import Position, position_of
from airflow_idempotent.engine.states import gaps, watermark_changes, watermarks
from airflow_idempotent.engine.watermarks import Changed, change_watermark
from airflow_idempotent.errors import UsageError

Rows = Sequence[dict[str, Any]]


def run(args: Namespace, out: Output) -> int:
    """Show, set or recompute. Only the last two write, and no row of a table."""
    table = table_name(args.table, command="watermark") if args.table else None
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


def _new(args: Namespace) -> Position | None:
    if args.action == "recompute":
        _no_instant(args)
        return None
    if not args.instant:
        raise UsageError(command="watermark", reason="set needs an INSTANT", hint=_EXAMPLE)
    if isinstance(number := position_of(args.instant) if args.instant.lstrip("-").isdigit() else None, int):
        return number
    return instant(args.instant, "UTC", option="INSTANT", command="watermark").astimezone(UTC)


def _no_instant(args: Namespace) -> None:
    if args.instant:
        raise UsageError(command="watermark", reason=f"{args.action} takes no INSTANT", hint=_EXAMPLE)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        raise UsageError(command="watermark", reason="nobody knows who you are", hint="Pass --by NAME.") from None


def _show(connect: Connect, table: str | None, out: Output) -> int:
    marks, holes, changes = (read(connect, table) for read in (watermarks, gaps, watermark_changes))
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
        old, new = (_either(change, name) for name in ("old", "new"))
        to = f"{_shown(old)} -> {'what the events say' if new is None else new}"
        yield f"  {what}: {to}; {change['reason']}"


def _said(action: str, changed: Changed) -> Iterator[str]:
    if not changed.written:
        yield f"{changed.table}: watermark {changed.cursor} is {_shown(changed.old)} already; nothing was changed."
        return
    mark = f"{changed.table}: watermark {changed.cursor}"
    yield f"{mark} {_shown(changed.old)} -> {_shown(changed.new)}; no row was changed."
    if action == "set" and _is_further(changed):
        yield "Rows between the two that are not loaded yet are read by no scheduled run any more."
    else:
        yield "The next scheduled run reads from there on."


def _either(change: dict[str, Any], name: str) -> Any:
    """A place on a cursor, in whichever column it stands."""
    number = change[f"{name}_number"]
    return change[f"{name}_watermark"] if number is None else number


def _shown(position: Any) -> str:
    return "-" if position is None else str(position)


def _is_further(changed: Changed) -> bool:
    """Whether rows may lie between the two that nobody reads any more."""
    old, new = changed.old, changed.new
    if isinstance(old, int) and isinstance(new, int):
        return new > old
    return isinstance(old, datetime) and isinstance(new, datetime) and new > old

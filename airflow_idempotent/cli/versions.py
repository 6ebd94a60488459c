"""``versions``: which versions of a table there are, and where each stands."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, FINDINGS, Output, aligned
from airflow_idempotent.cli.swap import table_of
from airflow_idempotent.core.divergence import Compared, Likeness
from airflow_idempotent.core.version import KEPT, Version
from airflow_idempotent.engine.retiring import lost_by_rollback, versions_of
from airflow_idempotent.engine.states import comparisons


def run(args: Namespace, out: Output) -> int:
    """Print the journal's present state. Nothing is written."""
    table = str(table_of(args.table, command="versions")) if args.table else None
    if args.divergence:
        return _divergence(args, out, table)
    connect = connector(args.dsn, command="versions")
    losses = lost_by_rollback(table, connect=connect)
    found = [(item, losses.get((item.table, item.number), ())) for item in versions_of(table, connect=connect)]
    tables = list(dict.fromkeys(version.table for version, _ in found))
    out.document({name: [_plain(*item) for item in found if item[0].table == name] for name in tables})
    if not found:
        out.say(f"No table{f' {table}' if table else ''} was ever swapped.")
    for name in tables:
        out.say(name, "", *_lines([item for item in found if item[0].table == name]), "")
    return DONE


def _plain(version: Version, lost: tuple[str, ...]) -> dict[str, Any]:
    return version.as_dict() | ({"lost_by_rollback": list(lost)} if version.state in KEPT else {})


def _lines(versions: list[tuple[Version, tuple[str, ...]]]) -> list[str]:
    header = ("version", "state", "relation", "since", "by", "")
    rows = [
        (
            item.number,
            str(item.state),
            str(item.relation),
            item.at,
            item.run or "command line",
            ", ".join(_remarks(item, lost)),
        )
        for item, lost in versions
    ]
    return aligned(header, rows)


def _remarks(version: Version, lost: tuple[str, ...]) -> Iterator[str]:
    if version.pinned:
        yield "pinned"
    if lost:
        yield f"a rollback loses {lost[0]}{f' and {len(lost) - 1:,} more' if len(lost) > 1 else ''}"


def _divergence(args: Namespace, out: Output, table: str | None) -> int:
    """Print how new versions differ from the live table, as validate found it last; 1 when something does."""
    connect = connector(args.dsn, command="versions")
    found = comparisons(connect, table, args.version, everything=args.all)
    out.document([{"table": item.table, **item.as_dict()} for item in found])
    if not found:
        out.say(f"Nothing differs{f' in {table}' if table else ''}, as far as versions were compared.")
    for item in found:
        out.say(*_compared_lines(item), "")
    return FINDINGS if any(item.comparison.likeness is not Likeness.CLEAN for item in found) else DONE


def _compared_lines(item: Compared) -> Iterator[str]:
    found, at = item.comparison, f"{item.at:%Y-%m-%d %H:%M:%S}" if item.at else ""
    name = f"{item.table} {item.partition}: version {item.version}"
    rows = f"{found.rows:,} rows, live {found.live_rows:,}" if found.rows is not None else found.reason
    yield f"{name} is {str(found.likeness).replace('_', ' ')} ({rows}; {at})"
    for unlike in found.unlike:
        yield f"  {'expected' if unlike.expected else 'NOT EXPECTED'}: {unlike}"
        if unlike.query and not unlike.expected:
            yield f"    {unlike.query}"

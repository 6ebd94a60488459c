"""``versions``: which versions of a table there are, and where each stands."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, FINDINGS, Output, aligned
from airflow_idempotent.cli.swap import table_of
from airflow_idempotent.core.divergence import Compared, Likeness
from airflow_idempotent.core.version import Version
from airflow_idempotent.engine.retiring import versions_of
from airflow_idempotent.engine.states import comparisons


def run(args: Namespace, out: Output) -> int:
    """Print the journal's present state. Nothing is written."""
    table = str(table_of(args.table, command="versions")) if args.table else None
    if args.divergence:
        return _divergence(args, out, table)
    found = versions_of(table, connect=connector(args.dsn, command="versions"))
    tables = list(dict.fromkeys(version.table for version in found))
    out.document({name: [item.as_dict() for item in found if item.table == name] for name in tables})
    if not found:
        out.say(f"No table{f' {table}' if table else ''} was ever swapped.")
    for name in tables:
        out.say(name, "", *_lines([item for item in found if item.table == name]), "")
    return DONE


def _lines(versions: list[Version]) -> list[str]:
    header = ("version", "state", "relation", "since", "by", "")
    rows = [
        (
            item.number,
            str(item.state),
            str(item.relation),
            item.at,
            item.run or "command line",
            "pinned" if item.pinned else "",
        )
        for item in versions
    ]
    return aligned(header, rows)


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

"""``versions``: which versions of a table there are, and where each stands."""

from __future__ import annotations

from argparse import Namespace

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, Output, aligned
from airflow_idempotent.cli.swap import table_of
from airflow_idempotent.core.version import Version
from airflow_idempotent.engine.retiring import versions_of


def run(args: Namespace, out: Output) -> int:
    """Print the journal's present state. Nothing is written."""
    table = str(table_of(args.table, command="versions")) if args.table else None
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

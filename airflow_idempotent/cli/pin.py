"""``pin``: a version is kept whatever ``keep_for`` says."""

from __future__ import annotations

from argparse import Namespace

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.cli.swap import table_of
from airflow_idempotent.engine.retiring import pin


def run(args: Namespace, out: Output) -> int:
    """Pin a version, or take the pin off. A second time changes nothing."""
    live = table_of(args.table, command="pin")
    connect = connector(args.dsn, command="pin")
    version = pin(live, args.version, pinned=not args.remove, why=args.reason, connect=connect)
    out.document(version.as_dict() | {"table": version.table})
    kept = "is kept until it is unpinned" if version.pinned else "is dropped when its time is over"
    out.say(f"{version.table}: version {version.number} ({version.relation}, {version.state}) {kept}.")
    return DONE

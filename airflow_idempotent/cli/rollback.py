"""``rollback``: the version that was live before is live again."""

from __future__ import annotations

from argparse import Namespace

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.cli.swap import said, table_of
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import RollbackOrder
from airflow_idempotent.engine.swap import rollback


def run(args: Namespace, out: Output) -> int:
    """Swap back. A second time finds it done."""
    order = RollbackOrder(
        table_of(args.table, command="rollback"), to=args.to, timeouts=Timeouts(lock=args.lock_timeout)
    )
    done = rollback(order, connect=connector(args.dsn, command="rollback"))
    out.document(done.as_pointer())
    out.say(said(done))
    return DONE

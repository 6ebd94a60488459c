"""``rollback``: the version live before is live again; or one partition is what an earlier batch made of it."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.files import load_spec, partition_of
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.cli.swap import said, table_of
from airflow_idempotent.core.staged import Scope
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import RollbackOrder
from airflow_idempotent.engine.swap import rollback
from airflow_idempotent.errors import RollbackError, UsageError


def run(args: Namespace, out: Output) -> int:
    """Swap back, or load a batch again. A second time finds it done."""
    if args.partition or args.to_batch:
        return _partition(args, out)
    order = RollbackOrder(
        table_of(args.table, command="rollback"),
        to=args.to,
        on_dependents=args.on_dependents,
        timeouts=Timeouts(lock=args.lock_timeout),
        accept_loss=args.accept_loss,
    )
    done = rollback(order, connect=connector(args.dsn, command="rollback"))
    out.document(done.as_pointer())
    out.say(said(done), *(f"went back in time: partition {key}, load it again" for key in done.lost))
    return DONE


def _partition(args: Namespace, out: Output) -> int:
    """Land the batch again as the newest of its partition, load it, check it.

    Raises:
        UsageError: only one of the two options is given.
        RollbackError: the strategy would not let an older batch win.
    """
    from airflow_idempotent.cli.pipeline import load_batch
    from airflow_idempotent.cli.sources import landing_root
    from airflow_idempotent.landing.again import land_again
    from airflow_idempotent.landing.store import BatchStore

    if not (args.partition and args.to_batch) or args.to is not None:
        hint = "Write it like: rollback tables/orders.yaml --partition 2025-05-01 --to-batch 20250501_01"
        raise UsageError(command="rollback", reason="--partition and --to-batch belong together", hint=hint)
    spec = load_spec(args.table)
    partition = partition_of(spec, args.partition, command="rollback")
    if spec.strategy.speaks_for is Scope.KEYS:
        reason = f"strategy {spec.strategy.kind!r} leaves rows alone that the batch lacks, and newer ones"
        way = "correct the source with a greater version, or build a new version of the table and swap it in"
        raise RollbackError(table=spec.table, version=None, reason=reason, kept=(way,))
    store, connect = BatchStore(landing_root(spec, args.root)), connector(args.dsn, command="rollback")
    landed = land_again(
        args.to_batch, store=store, table=spec.table, partition=partition, created_at=datetime.now(UTC).isoformat()
    )
    published, validated = load_batch(spec, partition, landed.manifest, store=store, connect=connect)
    document = {"batch_id": landed.manifest.batch_id, "replayed": landed.replayed, "rolled_back_to": args.to_batch}
    out.document({**published.as_pointer(), **document, "state": str(validated.state)})
    out.say(f"{spec.table} {partition}: batch {landed.manifest.batch_id} holds what {args.to_batch} held.")
    out.say(f"loaded: {published.effects}; {validated.state}")
    if published.effects.stale:
        out.say(f"{published.effects.stale:,} rows of the table have a greater version and stay as they are.")
    return DONE

"""``reconcile``: repair the ledger, never the data; the default only shows what would be written."""

from __future__ import annotations

import getpass
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.drift import audited_spec
from airflow_idempotent.cli.files import partition_of
from airflow_idempotent.cli.output import DONE, FINDINGS, Output, aligned
from airflow_idempotent.cli.sources import landing_root
from airflow_idempotent.engine.reconcile import Kind, Reconciliation, Repair, reconcile
from airflow_idempotent.landing.store import BatchStore


def run(args: Namespace, out: Output) -> int:
    """Show the repairs, or make them; 1 says that something is left to do. No row of a table is written."""
    spec, _ = audited_spec(args)
    keys = tuple(partition_of(spec, key, command="reconcile").key for key in args.partitions or ())
    store = BatchStore(landing_root(spec, args.root))
    newest = tuple(item for item in store.newest(spec.table) if not keys or item.partition in keys)
    by = f"reconcile/{getpass.getuser()}"
    wanted = Reconciliation(spec, newest, keys, args.accept, args.reason, by)
    connect = connector(args.dsn, command="reconcile")
    repairs = reconcile(wanted, connect=connect, opener=store, apply=args.apply)
    out.document({"table": spec.table, "applied": args.apply, "repairs": [_plain(item) for item in repairs]})
    out.say(*_text(spec.table, repairs, args))
    return FINDINGS if any(not item.made for item in repairs) else DONE


def _plain(item: Repair) -> dict[str, Any]:
    return asdict(item) | {"kind": str(item.kind)}


def _text(table: str, repairs: tuple[Repair, ...], args: Namespace) -> Iterator[str]:
    possible = [item for item in repairs if item.kind is not Kind.NONE]
    made = sum(item.made for item in repairs)
    if not repairs:
        yield f"{table}: nothing to repair, the ledger agrees with the landed batches and with the table."
        return
    repair = "repair" if len(possible) == 1 else "repairs"
    count = f"{made} of {len(possible)} {repair} made" if args.apply else f"{len(possible)} {repair} to make"
    yield f"{table}: {count}; no row of the table is written."
    yield ""
    rows = [(item.partition, item.kind, "yes" if item.made else "", item.message) for item in repairs]
    yield from aligned(("partition", "repair", "made", "why"), rows)
    if possible and not args.apply:
        yield from ("", "Nothing was written. To make them, add --apply.")

"""``dedupe``: remove the duplicates that are in a table already."""

from __future__ import annotations

import csv
import sys
from argparse import Namespace

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, FINDINGS, Output
from airflow_idempotent.cli.progress import Bar
from airflow_idempotent.core.duplicates import Deduplicated, Deduplication
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.engine.deduplicate import deduplicate
from airflow_idempotent.errors import IdempotentError, UsageError


def run(args: Namespace, out: Output) -> int:
    """Remove them, or with ``--dry-run`` count them; then 1 says that there are some."""
    order = order_of(args)
    connect = connector(args.dsn, command="dedupe")
    removed = 0
    with Bar(order.table, "dedupe", silent=out.as_json) as bar:

        def told(done: int, of: int) -> None:
            nonlocal removed
            removed = done
            bar.count("removing", done, of)

        bar("looking", 0, 0, 0)
        try:
            done = deduplicate(order, connect=connect, dry_run=args.dry_run, progress=told)
        except (IdempotentError, KeyboardInterrupt):
            if removed and not out.as_json:
                kept = f"{order.table}: {removed:,} duplicates were removed before and stay removed."
                print(kept, file=sys.stderr, flush=True)
            raise
    out.document(done.as_pointer())
    out.say(*lines(done))
    return FINDINGS if done.dry_run and done.duplicates else DONE


def order_of(args: Namespace) -> Deduplication:
    """What the arguments ask for.

    Raises:
        UsageError: they name no table, no key, or something twice.
    """
    try:
        return Deduplication(
            relation=Relation.parse(args.table),
            unique_key=columns(args.unique_key),
            version=columns(args.version),
            chunk_rows=args.chunk_rows,
            timeouts=Timeouts(lock=args.lock_timeout),
        )
    except ValueError as error:
        raise UsageError(command="dedupe", reason=str(error)) from None


def columns(text: str) -> tuple[str, ...]:
    """``order_id,line_no`` as two names; double quotes keep a comma within one."""
    return tuple(next(csv.reader([text], skipinitialspace=True), ()))


def lines(done: Deduplicated) -> list[str]:
    """What was done, why these rows, what was left alone, and what keeps duplicates out."""
    key = ", ".join(done.unique_key)
    count = done.duplicates if done.dry_run else done.removed
    found = f"{_counted(count, 'duplicate')} of {_counted(done.repeated_keys, 'key')}"
    seen = f"{_counted(done.rows, 'row')} looked at"
    if not done.repeated_keys:
        said = [f"{done.table}: no key is there twice, {seen}; nothing was changed."]
    elif done.dry_run:
        said = [f"{done.table}: {found} would be removed, {seen}; nothing was changed."]
    else:
        said = [f"{done.table}: {found} removed, {seen}; running it again removes 0."]
    if done.repeated_keys:
        said.append(f"Of each key ({key}) {_best(done)}.")
    if done.null_keys:
        nulls = _counted(done.null_keys, "row") + (" has" if done.null_keys == 1 else " have")
        said.append(f"{nulls} NULL in the key ({key}): left alone, nobody can say which row that is.")
    if done.index_advice and not done.dry_run:
        said += ["No unique index keeps duplicates out. Add one:", f"  {done.index_advice};"]
    return said


def _best(done: Deduplicated) -> str:
    """Which row of a key stays."""
    if not done.version:
        return "the row with the greatest content stays, since no --version is given"
    return f"the row with the greatest {', '.join(done.version)} stays; ties are decided by the row's content"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""``swap``: a shadow becomes the live table."""

from __future__ import annotations

from argparse import Namespace
from datetime import timedelta

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import Keeping, SwapOrder, Swapped
from airflow_idempotent.engine.retiring import CleanedUp, clean_up
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.errors import UsageError


def run(args: Namespace, out: Output) -> int:
    """Swap, then drop the retired versions whose time is over."""
    live = table_of(args.table, command="swap")
    keeping = Keeping(span(args.keep_for, command="swap"), args.keep_versions)
    order = SwapOrder(
        live,
        shadow=args.shadow and table_of(args.shadow, command="swap"),
        version=args.version,
        allow_empty=args.allow_empty,
        allow_changes=args.allow_changes,
        by=args.by,
        on_dependents=args.on_dependents,
        timeouts=Timeouts(lock=args.lock_timeout),
        keeping=keeping,
    )
    connect = connector(args.dsn, command="swap")
    done = swap(order, connect=connect)
    cleaned = clean_up(live, keeping, connect=connect, timeouts=order.timeouts)
    out.document(done.as_pointer() | {"dropped": cleaned.dropped, "left": dict(cleaned.left)})
    out.say(said(done), *([done.way_back] if done.way_back else []), *cleaned_lines(cleaned))
    return DONE


def table_of(name: str, *, command: str) -> Relation:
    """The table of that name.

    Raises:
        UsageError: it is no name.
    """
    try:
        return Relation.parse(name)
    except ValueError as error:
        raise UsageError(command=command, reason=str(error)) from None


def span(text: str, *, command: str) -> timedelta:
    """A span of time as ``7d`` or ``12h``.

    Raises:
        UsageError: it is none.
    """
    from airflow_idempotent.spec.durations import duration

    try:
        found: timedelta = duration(text if text != "0" else 0)
    except ValueError as error:
        raise UsageError(command=command, reason=f"--keep-for: {error}") from None
    return found


def said(done: Swapped) -> str:
    """What is live now, and what is kept."""
    if done.replayed:
        since = f" since {done.recorded_at:%Y-%m-%d %H:%M:%S}" if done.recorded_at else ""
        return f"{done.table}: version {done.version} is live already{since}{_by(done)}; nothing was changed."
    kept = f"version {done.retired_version} is kept as {done.retired}"
    return f"{done.table}: version {done.version} is live, {kept}; readers waited {done.held_ms:.0f} ms at most."


def _by(done: Swapped) -> str:
    return f", by run {done.run}" if done.run else ""


def cleaned_lines(cleaned: CleanedUp) -> list[str]:
    """What went for good, and what stays though its time is over."""
    gone = [f"dropped: {name}" for name in cleaned.dropped]
    return [*gone, *(f"left: {name}, {why}" for name, why in cleaned.left)]

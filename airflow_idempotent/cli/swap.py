"""``swap``: a shadow becomes the live table."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from datetime import timedelta

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.files import load_spec
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import Keeping, SwapOrder, Swapped
from airflow_idempotent.engine.retiring import CleanedUp, clean_up
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.errors import UsageError


def run(args: Namespace, out: Output) -> int:
    """Swap, then drop the retired versions whose time is over."""
    order, keeping = _of_spec(args) if args.table.endswith((".yaml", ".yml")) else _of_words(args)
    connect = connector(args.dsn, command="swap")
    try:
        done = swap(order, connect=connect)
    except ValueError as error:
        raise UsageError(command="swap", reason=str(error)) from None
    cleaned = clean_up(Relation.parse(done.table), keeping, connect=connect, timeouts=order.timeouts)
    out.document(done.as_pointer() | {"dropped": cleaned.dropped, "left": dict(cleaned.left)})
    out.say(said(done), *([done.way_back] if done.way_back else []), *cleaned_lines(cleaned))
    return DONE


def _of_words(args: Namespace) -> tuple[SwapOrder, Keeping]:
    """Any table, as the options say."""
    keeping = Keeping(span(args.keep_for, command="swap"), args.keep_versions)
    order = SwapOrder(
        table_of(args.table, command="swap"),
        shadow=args.shadow and table_of(args.shadow, command="swap"),
        version=args.version,
        allow_empty=args.allow_empty,
        allow_changes=args.allow_changes,
        by=args.by,
        partition=args.partition or "",
        timezone=args.timezone,
        on_dependents=args.on_dependents,
        timeouts=Timeouts(lock=args.lock_timeout),
        keeping=keeping,
    )
    return order, keeping


def _of_spec(args: Namespace) -> tuple[SwapOrder, Keeping]:
    """The version of a spec, by its rules: the same as the task ``swap`` of its DAG, ``cutover`` asked for.

    Raises:
        UsageError: options say what the spec says.
    """
    if args.shadow or args.version is not None or args.by or args.partition:
        reason = "a spec says which version is swapped in and how: table_version, publish.by"
        hint = "Leave --shadow, --version and --by out; --partition needs a TABLE and its --shadow."
        raise UsageError(command="swap", reason=reason, hint=hint)
    spec = load_spec(args.table)
    order = spec.publish.order(spec.live, spec.table_version, Timeouts(lock=args.lock_timeout))
    dependents = "carry" if args.on_dependents == "carry" else order.on_dependents
    return replace(order, allow_empty=args.allow_empty, on_dependents=dependents), spec.publish.keeping


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

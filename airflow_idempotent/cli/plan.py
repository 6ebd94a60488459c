"""``plan``: the partitions a range stands for, and why each is in; nothing is run."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.files import instant, load_spec
from airflow_idempotent.cli.output import DONE, Output, aligned
from airflow_idempotent.plan.resolve import Known, Plan, Reprocess, Run, resolve
from airflow_idempotent.spec.table import TableSpec

NEEDS_LEDGER = {Reprocess.MISSING, Reprocess.FAILED, Reprocess.STALE, Reprocess.DRIFTED}


def run(args: Namespace, out: Output) -> int:
    """Print the plan of a range, half-open."""
    spec = load_spec(args.spec)
    start = instant(args.from_date, spec.timezone, option="--from-date", command="plan")
    end = instant(args.to_date, spec.timezone, option="--to-date", command="plan")
    reprocess = Reprocess(args.reprocess_behavior)
    known: dict[str, Known] = {}
    if reprocess in NEEDS_LEDGER and start < end:
        from airflow_idempotent.engine.states import known_partitions

        first = spec.grain.partition(start, spec.timezone).start
        known = known_partitions(connector(args.dsn, command="plan"), spec.table, first, end)
    plan = resolve(spec, Run(now=datetime.now(UTC), from_date=start, to_date=end, reprocess=reprocess), known)
    out.document(_document(plan, reprocess))
    out.say(*_text(spec, plan, args))
    return DONE


def _text(spec: TableSpec, plan: Plan, args: Namespace) -> list[str]:
    count = len(plan.partitions)
    what = f"{count} partition{'' if count == 1 else 's'}"
    heading = f"{plan.table}: {what} in [{args.from_date}, {args.to_date}), one per {spec.grain} in {spec.timezone}"
    rows = [
        (item.partition.key, item.partition.start.isoformat(), item.partition.end.isoformat(), item.reason)
        for item in plan.partitions
    ]
    table = aligned(("partition", "start", "end (not included)", "reason"), rows) if rows else []
    return [heading, *([""] if rows else []), *table]


def _document(plan: Plan, reprocess: Reprocess) -> dict[str, object]:
    partitions = [
        {
            "partition": item.partition.key,
            "start": item.partition.start,
            "end": item.partition.end,
            "reason": item.reason,
        }
        for item in plan.partitions
    ]
    return {
        "table": plan.table,
        "reprocess_behavior": str(reprocess),
        "spec_fingerprint": plan.spec_fingerprint,
        "partitions": partitions,
    }

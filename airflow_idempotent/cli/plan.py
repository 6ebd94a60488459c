"""``plan``: the partitions a range stands for, and why each is in; nothing is run."""

from __future__ import annotations

from argparse import Namespace

from airflow_idempotent.cli.files import load_spec
from airflow_idempotent.cli.output import DONE, Output, aligned
from airflow_idempotent.cli.ranges import planned_range
from airflow_idempotent.plan.resolve import Plan
from airflow_idempotent.spec.table import TableSpec


def run(args: Namespace, out: Output) -> int:
    """Print the plan of a range, half-open."""
    spec = load_spec(args.spec)
    plan = planned_range(spec, args, command="plan")
    out.document(_document(plan, args.reprocess_behavior))
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


def _document(plan: Plan, reprocess: str) -> dict[str, object]:
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
        "reprocess_behavior": reprocess,
        "spec_fingerprint": plan.spec_fingerprint,
        "partitions": partitions,
    }

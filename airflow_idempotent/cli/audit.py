"""``audit``: is what was published still what its source holds, and still what is in the table?"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.drift import audited_spec, next_moves, source_comparison
from airflow_idempotent.cli.files import instant
from airflow_idempotent.cli.output import DONE, FINDINGS, Output, aligned
from airflow_idempotent.cli.progress import Bar
from airflow_idempotent.core.audit import Finding, Report, Sample
from airflow_idempotent.engine.audit import Asked, audit
from airflow_idempotent.errors import UsageError
from airflow_idempotent.spec.table import TableSpec


def run(args: Namespace, out: Output) -> int:
    """Print what was found; 1 says that something is open, whoever found it. No row of a table is written."""
    spec, path = audited_spec(args)
    connect = connector(args.dsn, command="audit")
    compare = source_comparison(spec, args, connect)
    with Bar(spec.table, "audit", silent=out.as_json) as bar:
        report = audit(
            spec,
            _asked(spec, args),
            connect=connect,
            compare_source=compare,
            told=lambda done, of: bar.count("auditing", done, of, "partitions"),
        )
    out.document(document(spec, path, report))
    out.say(*_text(spec, path, report))
    return FINDINGS if report.findings else DONE


def _asked(spec: TableSpec, args: Namespace) -> Asked:
    try:
        sample = Sample.parse(args.sample)
    except ValueError as error:
        raise UsageError(command="audit", reason=str(error)) from None
    bounds = [
        instant(text, spec.timezone, option=option, command="audit") if text else None
        for option, text in (("--from-date", args.from_date), ("--to-date", args.to_date))
    ]
    return Asked(f"cli/{datetime.now(UTC).isoformat()}/{os.getpid()}", sample, *bounds)


def _text(spec: TableSpec, path: Path, report: Report) -> Iterator[str]:
    found = report.findings
    count = f"{len(found)} finding{'' if len(found) == 1 else 's'}"
    looked = f"{len(report.looks)} of {report.published} published partitions audited"
    closed = f", {report.closed} healed" if report.closed else ""
    yield f"{report.table}: {looked}, {count}{closed}; no row of the table was written."
    if found:
        yield from ("", *findings_table(found), "")
        yield from next_moves(spec, path, found)
    unjudged: dict[str, list[str]] = {}
    for look in report.looks:
        for text in look.unjudged:
            unjudged.setdefault(text, []).append(look.partition)
    if unjudged:
        yield from ("", "Not judged:")
        yield from (f"  {_some(keys)}: {text}" for text, keys in unjudged.items())


def findings_table(found: tuple[Finding, ...]) -> list[str]:
    """One line per finding."""
    rows = [(item.partition, item.cause, item.message, f"{item.since:%Y-%m-%d %H:%M:%S}") for item in found]
    return aligned(("partition", "cause", "what", "found at"), rows)


def _some(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} … {keys[-1]} ({len(keys)})"


def document(spec: TableSpec, path: Path, report: Report) -> dict[str, Any]:
    """The report for programs."""
    return {
        "table": report.table,
        "published": report.published,
        "audited": [look.partition for look in report.looks],
        "findings": [
            {
                "partition": item.partition,
                "cause": str(item.cause),
                "message": item.message,
                "found_at": item.since,
                "new": item.is_new,
            }
            for item in report.findings
        ],
        "closed": report.closed,
        "not_judged": {look.partition: look.unjudged for look in report.looks if look.unjudged},
        "next": next_moves(spec, path, report.findings),
    }

"""``run``: load partitions outside Airflow, by the same engine."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from airflow_idempotent.cli.connection import connector, source_connector
from airflow_idempotent.cli.dual_write import dual_write
from airflow_idempotent.cli.files import instant, load_spec
from airflow_idempotent.cli.functions import make_importable
from airflow_idempotent.cli.output import DATABASE, DONE, Output, error_document, exit_code, megabytes
from airflow_idempotent.cli.pipeline import Outcome, land_partition, load_partition
from airflow_idempotent.cli.progress import Bar
from airflow_idempotent.cli.ranges import asked_plan
from airflow_idempotent.cli.sources import landing_root, source_of
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.beside import meant
from airflow_idempotent.engine.lending import Lender
from airflow_idempotent.errors import IdempotentError, UsageError
from airflow_idempotent.landing.land import Landed
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.resolve import Plan
from airflow_idempotent.spec.table import TableSpec

Failures = dict[str, IdempotentError]


def run(args: Namespace, out: Output) -> int:
    """Load each partition; one that fails does not stop the others, a database that is away does."""
    spec = load_spec(args.spec)
    make_importable(Path(args.spec))
    version = spec.table_version if args.target == "shadow" else None
    plan = asked_plan(spec, args, command="run", version=version)
    outcomes: list[Outcome] = []
    failures: Failures = {}
    with _store(spec, args) as store, closing(Lender(connector(args.dsn, command="run"))) as lender:
        load = _loader(spec, plan, args, store, lender, silent=out.as_json)
        out.say(spec.table + (", dry run: everything is rolled back" if args.dry_run else ""))
        for partition in _in_order(plan, args):
            outcomes.append(outcome := Outcome(partition.key))
            try:
                load(partition, outcome)
            except IdempotentError as error:
                failures[partition.key] = error
            out.say(*_lines(outcome, partition.key in failures))
            if (failed := failures.get(partition.key)) and out.complain(failed) == DATABASE:
                break
    out.say(*_total(plan, outcomes, failures))
    out.document(_document(spec, outcomes, failures))
    return max(map(exit_code, failures.values()), default=DONE)


@contextmanager
def _store(spec: TableSpec, args: Namespace) -> Iterator[BatchStore]:
    """Where batches go: below the landing root, or, for a dry run, into a folder that is gone afterwards."""
    if not args.dry_run:
        yield BatchStore(landing_root(spec, args.root))
        return
    with tempfile.TemporaryDirectory(prefix="airflow-idempotent-dry-run-") as folder:
        yield BatchStore(Path(folder))


def _in_order(plan: Plan, args: Namespace) -> list[Partition]:
    """Oldest first, or the newest, which people look at first."""
    partitions = [item.partition for item in plan.partitions]
    return partitions[::-1] if args.newest_first else partitions


def _loader(spec: TableSpec, plan: Plan, args: Namespace, store: BatchStore, lender: Lender, *, silent: bool) -> Any:
    """A function that loads one partition into an outcome, with all that the command line says."""
    now = datetime.now(UTC)
    cutoff = instant(args.cutoff_ts, spec.timezone, option="--cutoff-ts", command="run") if args.cutoff_ts else now
    params = dict(map(_param, args.param))
    source = source_connector(args.source_dsn, lender.connect)
    find = partial(source_of, cutoff_ts=cutoff, params=params, connect=source)
    facts = {"cutoff_ts": cutoff.astimezone(UTC).isoformat(), "created_at": now.isoformat()}

    def load(partition: Partition, outcome: Outcome) -> None:
        of_version = meant(spec, args.target, connect=lender)
        with Bar(spec.table, partition.key, silent=silent) as bar:
            load_partition(
                of_version,
                partition,
                find(of_version, partition),
                store=store,
                connect=lender,
                cutoff_ts=facts["cutoff_ts"],
                created_at=facts["created_at"],
                skip_unchanged=args.skip_unchanged or (plan.skip_unchanged and not args.force),
                force=args.force or plan.force,
                dry_run=args.dry_run,
                target=args.target,
                progress=bar,
                outcome=outcome,
            )
            if args.target == "live" and outcome.published and not args.dry_run:

                def land(of_version: TableSpec) -> Landed | None:
                    return land_partition(of_version, partition, find(of_version, partition), store, bar, facts)

                dual_write(spec, partition, land, store=store, connect=lender, outcome=outcome)

    return load


def _param(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(
            command="run", reason=f"--param {text!r} has no value", hint="Write it like --param region=eu."
        )
    return name, value


def _lines(outcome: Outcome, failed: bool) -> Iterator[str]:
    """What became of one partition, for people."""
    said = list(_facts(outcome)) or (["nothing was done"] if failed else [])
    for number, line in enumerate(said):
        yield f"{outcome.partition if number == 0 else '':<{len(outcome.partition)}}  {line}"


def _facts(outcome: Outcome) -> Iterator[str]:
    seconds = {step: f", {spent:.1f} s" for step, spent in outcome.seconds.items()}
    if landed := outcome.landed:
        manifest = landed.manifest
        verb = "found landed" if landed.replayed else "landed"
        what = f"{manifest.rows:,} rows, {megabytes(manifest.bytes)}" if not manifest.query else "a query"
        yield f"{verb}: batch {manifest.batch_id}, {what}{seconds['land']}"
    if published := outcome.published:
        verb = "found loaded" if published.replayed else "would load" if published.dry_run else "loaded"
        yield f"{verb}: {published.effects}{seconds['stage_merge']}"
    if validated := outcome.validated:
        verdicts = [str(check.verdict) for check in validated.checks]
        counts = ", ".join(
            f"{verdicts.count(verdict)} {verdict.replace('_', ' ')}" for verdict in dict.fromkeys(verdicts)
        )
        yield f"validated: {counts}{seconds['validate']}"
        yield from (f"  {check.verdict}: {check}" for check in validated.checks if check.verdict == "warned")
        if compared := validated.comparison:
            yield f"compared with the live table: {str(compared.likeness).replace('_', ' ')}, {compared.told}"
    for said in outcome.beside:
        if said["state"] == "behind":
            yield f"version {said['version']} stays behind: {said['message'].splitlines()[0]}"
        else:
            alike = f", {said['likeness'].replace('_', ' ')}" if "likeness" in said else ""
            yield f"version {said['version']} beside it: {said['state']}{alike}"
    if outcome.skipped:
        yield f"skipped: {outcome.skipped}"


def _total(plan: Plan, outcomes: list[Outcome], failures: Failures) -> Iterator[str]:
    """What became of several partitions together, for people."""
    if len(plan.partitions) == 1:
        return
    counts, effects = Counter[str](), Effects()
    for outcome in outcomes:
        receipt = outcome.published
        found = receipt is not None and receipt.replayed
        done = "found loaded" if found else "would be loaded" if receipt and receipt.dry_run else "loaded"
        counts["failed" if outcome.partition in failures else done if receipt else "skipped"] += 1
        if receipt and not receipt.replayed:
            effects += receipt.effects
    counts["not tried"] = len(plan.partitions) - len(outcomes)
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "nothing to do"
    yield f"{len(plan.partitions):,} partitions: {told}" + (f"; {effects}" if outcomes else "")


def _document(spec: TableSpec, outcomes: list[Outcome], failures: Failures) -> dict[str, Any]:
    """Every partition that was tried; the first error is repeated at the top, where it always is."""
    found: list[dict[str, Any]] = []
    for outcome in outcomes:
        failed = failures.get(outcome.partition)
        found.append(outcome.as_dict() | (error_document(failed) if failed else {}))
    first = next(iter(failures.values()), None)
    top = {"error": type(first).__name__, "message": str(first)} if first else {}
    return {"table": spec.table, **top, "partitions": found}

"""A range of partitions as the command line names it: for ``plan``, which shows it, and for ``run``, which loads it."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from airflow_idempotent.cli.connection import connector
from airflow_idempotent.cli.files import instant, partition_of
from airflow_idempotent.errors import UsageError
from airflow_idempotent.plan.resolve import Known, Plan, Planned, Reprocess, Run, resolve

if TYPE_CHECKING:
    from airflow_idempotent.spec.table import TableSpec

ASKED = "asked for by --partition"


def planned_range(spec: TableSpec, args: Namespace, *, command: str, version: int | None = None) -> Plan:
    """The plan of ``--from-date``, ``--to-date`` and ``--reprocess-behavior``; half-open.

    ``version`` is the table version whose partitions the ledger is asked for; the live one without.

    Raises:
        UsageError: a date is none.
        RangeError, OutOfRangeError: see ``plan.resolve``.
    """
    start = instant(args.from_date, spec.timezone, option="--from-date", command=command)
    end = instant(args.to_date, spec.timezone, option="--to-date", command=command)
    reprocess = Reprocess(args.reprocess_behavior)
    known: dict[str, Known] = {}
    if reprocess.needs_ledger and start < end:
        from airflow_idempotent.engine.states import known_partitions

        first = spec.grain.partition(start, spec.timezone).start
        known = known_partitions(connector(args.dsn, command=command), spec.table, first, end, version)
    return resolve(spec, Run(now=datetime.now(UTC), from_date=start, to_date=end, reprocess=reprocess), known)


def asked_plan(spec: TableSpec, args: Namespace, *, command: str, version: int | None = None) -> Plan:
    """The plan of a range, or of the partitions that ``--partition`` names; never of both.

    Raises:
        UsageError: neither was given, or both, or half a range.
        RangeError, OutOfRangeError: see ``plan.resolve``.
    """
    ranged = args.from_date is not None or args.to_date is not None
    if bool(args.partitions) == ranged:
        reason = "--partition and a range were both given" if ranged else "nothing says which partitions are meant"
        hint = "Give --partition 2025-05-01, which may be repeated, or --from-date 2025-05-01 --to-date 2025-06-01."
        raise UsageError(command=command, reason=reason, hint=hint)
    if ranged and (args.from_date is None or args.to_date is None):
        hint = "The end is not included: --from-date 2025-05-01 --to-date 2025-06-01 is all of May."
        raise UsageError(command=command, reason="--from-date and --to-date belong together", hint=hint)
    if ranged:
        return planned_range(spec, args, command=command, version=version)
    if args.reprocess_behavior != Reprocess.ALL:
        hint = "Leave it out: the partitions that --partition names are loaded whatever the ledger says."
        raise UsageError(command=command, reason="--reprocess-behavior is about a range", hint=hint)
    found = [partition_of(spec, key, command=command) for key in dict.fromkeys(args.partitions)]
    from airflow_idempotent.spec.fingerprint import fingerprint

    return Plan(spec.table, tuple(Planned(item, ASKED) for item in found), fingerprint(spec), datetime.now(UTC))

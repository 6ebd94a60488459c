"""Which partitions a run means, decided once: from its interval, its params, or its logical date; never by a guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from airflow_idempotent.core.audit import Cause, is_stale
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import State
from airflow_idempotent.core.window import Position, position_text
from airflow_idempotent.errors import NoPartitionError, OutOfRangeError, RangeError
from airflow_idempotent.plan.late import cutoff_of, is_incremental, looked_back_at, read_from
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.table import TableSpec

LOOKBACK = "lookback: late data, rewritten only if its source changed"


class Reprocess(StrEnum):
    """Which partitions of a range are worked on, by what the ledger says of them."""

    ALL = "all"
    MISSING = "missing"
    FAILED = "failed"
    STALE = "stale"
    DRIFTED = "drifted"
    CHANGED = "changed"

    @property
    def needs_ledger(self) -> bool:
        """Whether only the ledger can say which partitions those are."""
        return self not in (Reprocess.ALL, Reprocess.CHANGED)


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a run when it is planned; ``run_type`` is Airflow's: scheduled, backfill, manual, …

    Instants are timezone-aware. ``now`` is the only clock; nothing after the plan reads another.
    ``watermark`` is that of the table's incremental query, as far as the ledger knows one.
    """

    now: datetime
    run_type: str = "manual"
    logical_date: datetime | None = None
    interval: tuple[datetime, datetime] | None = None
    partition_key: str | None = None
    from_date: datetime | None = None
    to_date: datetime | None = None
    reprocess: Reprocess = Reprocess.ALL
    cutoff_ts: datetime | None = None
    force: bool = False
    watermark: Position | None = None

    @property
    def lane(self) -> str:
        """How the ledger files the run: scheduled, backfill or manual."""
        return self.run_type if self.run_type in ("scheduled", "backfill") else "manual"


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger says of one partition; ``spec_fingerprint`` is empty while nothing was ever published.

    ``drift`` is what audits have found and nothing has healed.
    """

    state: State
    spec_fingerprint: str
    drift: tuple[Cause, ...] = ()

    @property
    def drifted(self) -> str:
        """What a load can heal; empty when there is nothing."""
        return ", ".join(cause.replace("_", " ") for cause in self.drift if cause.alarms)


@dataclass(frozen=True, slots=True)
class Planned:
    """One partition of a plan, and why it is in.

    ``looks_back`` when it is read again for late data. ``low`` is from where an incremental query is read,
    ``known_until`` its watermark.
    """

    partition: Partition
    reason: str
    looks_back: bool = False
    low: Position | None = None
    known_until: Position | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The partitions of one run, in order, and what is pinned for all its retries."""

    table: str
    partitions: tuple[Planned, ...]
    spec_fingerprint: str
    cutoff_ts: datetime
    lane: str = "manual"
    skip_unchanged: bool = False
    force: bool = False
    cutoff_given: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_pointers(self) -> list[dict[str, Any]]:
        """One small mapping of plain values per partition, as it travels through XCom."""
        pinned = {
            "spec_fingerprint": self.spec_fingerprint,
            "cutoff_ts": self.cutoff_ts.isoformat(),
            "lane": self.lane,
            **({"force": True} if self.force else {}),
            **({"cutoff_given": True} if self.cutoff_given else {}),
        }
        return [{**pinned, **self._pointer(item)} for item in self.partitions]

    def _pointer(self, item: Planned) -> dict[str, Any]:
        return {
            "partition": item.partition.key,
            "reason": item.reason,
            "skip_unchanged": self.skip_unchanged or item.looks_back,
            **({"looks_back": True} if item.looks_back else {}),
            **{name: text for name in ("low", "known_until") if (text := position_text(getattr(item, name)))},
        }


def resolve(spec: TableSpec, run: Run, known: Mapping[str, Known] | None = None) -> Plan:
    """The plan of a run. ``known`` is the ledger's view of the range, needed to reprocess missing, failed or stale.

    Raises:
        NoPartitionError: nothing says which partitions are meant.
        RangeError: from_date and to_date are not a range.
        OutOfRangeError: partitions outside ``[start_date, end_date)`` of the table were asked for.
    """
    meaning, wanted = fingerprint(spec), tuple(asked(spec, run))
    if outside := tuple(item.partition.key for item in wanted if not spec.holds(item.partition)):
        end = spec.end.isoformat() if spec.end else ""
        raise OutOfRangeError(table=spec.table, partitions=outside, start_date=spec.begin.isoformat(), end_date=end)
    ranged = run.from_date is not None
    chosen = _chosen(wanted, run.reprocess, known or {}, meaning) if ranged else _incremental(spec, run, wanted)
    return Plan(
        table=spec.table,
        partitions=(*_lookback(spec, run, wanted), *chosen),
        spec_fingerprint=meaning,
        cutoff_ts=run.cutoff_ts or cutoff_of(spec, run.run_type, wanted[-1].partition if wanted else None, run.now),
        cutoff_given=run.cutoff_ts is not None,
        lane=run.lane,
        # What somebody has changed in the table is found by loading it, not by the receipt of its load.
        skip_unchanged=ranged and not run.force and run.reprocess is not Reprocess.DRIFTED,
        force=run.force or (ranged and run.reprocess is Reprocess.STALE),
    )


def asked(spec: LoadSpec, run: Run) -> Iterator[Planned]:
    """The partitions a run names, whatever the ledger says of them: the one rule for plans and single operators.

    Raises:
        NoPartitionError: nothing says which partitions are meant.
        RangeError: from_date and to_date are not a range.
    """
    grain, zone = spec.grain, spec.timezone
    if run.from_date is not None or run.to_date is not None:
        start, end = _range(spec, run)
        yield from (Planned(item, "asked for by from_date and to_date") for item in grain.partitions(start, end, zone))
    elif run.run_type in ("scheduled", "backfill") and run.logical_date is not None:
        if run.interval and run.interval[0] == run.interval[1]:
            raise empty_interval(spec, run.interval[0])
        start, end = run.interval or (run.logical_date, run.logical_date)
        if start == run.logical_date and start < end:
            yield from (
                Planned(item, f"data interval of this {run.lane} run") for item in grain.covering(start, end, zone)
            )
        else:  # a manual run that a backfill adopted keeps the interval before its logical date
            yield Planned(grain.partition(run.logical_date, zone), f"logical date of this {run.lane} run")
    elif run.partition_key:
        yield Planned(_parsed(spec, run.partition_key), "partition key of this run")
    elif run.logical_date is not None:
        found = grain.partition(run.logical_date, zone)
        if found.end <= run.now:
            yield Planned(found, "contains the logical date")
        else:
            previous = next(iter(grain.partitions(found.start - (found.end - found.start) / 2, found.start, zone)))
            yield Planned(previous, f"the last closed one, {found.key} is still open")
    else:
        raise NoPartitionError(table=spec.table)


def empty_interval(spec: LoadSpec, at: datetime) -> NoPartitionError:
    """The error of a run whose data interval holds nothing; loading by it would pass every check over no rows."""
    return NoPartitionError(
        table=spec.table,
        reason=f"the data interval of this run is empty (it begins and ends at {at.isoformat()})",
        hint="A cron text has no intervals on Airflow 3: CronDataIntervalTimetable('0 0 * * *', timezone='UTC') has",
    )


def _range(spec: LoadSpec, run: Run) -> tuple[datetime, datetime]:
    given = {"from_date": str(run.from_date or ""), "to_date": str(run.to_date or "")}
    if run.run_type == "backfill":
        raise RangeError(
            table=spec.table, **given, reason="each run of a backfill has its own interval; leave both out"
        )
    if run.from_date is None or run.to_date is None:
        raise RangeError(table=spec.table, **given, reason="from_date and to_date belong together")
    if run.from_date >= run.to_date:
        raise RangeError(table=spec.table, **given)
    return run.from_date, run.to_date


def _parsed(spec: LoadSpec, key: str) -> Partition:
    try:
        return spec.partition(key)
    except ValueError as error:
        raise RangeError(table=spec.table, from_date=key, to_date="", reason=str(error)) from None


def _lookback(spec: TableSpec, run: Run, asked: tuple[Planned, ...]) -> Iterator[Planned]:
    """Earlier partitions that a scheduled run reads again, oldest first; an incremental query reaches back instead."""
    if run.run_type == "scheduled" and asked and not is_incremental(spec):
        yield from (Planned(item, LOOKBACK, looks_back=True) for item in looked_back_at(spec, asked[0].partition))


def _incremental(spec: TableSpec, run: Run, asked: tuple[Planned, ...]) -> tuple[Planned, ...]:
    """The scheduled run of an incremental query reads from the watermark on; others read their partitions."""
    if run.run_type != "scheduled" or not asked or not is_incremental(spec):
        return asked
    first, mark = asked[0], run.watermark
    low = read_from(spec, first.partition, mark)
    known = "no watermark yet" if mark is None else f"watermark {position_text(mark)}"
    reason = f"{first.reason}; {known}, read from {position_text(low)} on"
    return replace(first, reason=reason, low=low, known_until=mark), *asked[1:]


def _chosen(
    asked: Iterable[Planned], reprocess: Reprocess, known: Mapping[str, Known], meaning: str
) -> Iterator[Planned]:
    for item in asked:
        found = known.get(item.partition.key)
        loaded = found.spec_fingerprint if found else ""
        failed = found is not None and found.state in (State.FAILED, State.REJECTED)
        reason = {
            Reprocess.ALL: item.reason,
            Reprocess.CHANGED: "asked for, rewritten only where the source changed",
            Reprocess.MISSING: "" if loaded else "missing",
            Reprocess.FAILED: f"{found.state}" if found and failed else "",
            Reprocess.STALE: "stale: the spec changed" if is_stale(loaded, meaning) else "",
            Reprocess.DRIFTED: f"drifted: {found.drifted}" if found and found.drifted else "",
        }[reprocess]
        if reason:
            yield Planned(item.partition, reason)

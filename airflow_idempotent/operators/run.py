"""What a run says of itself: which partitions it means, in which lane, by which attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Attempt
from airflow_idempotent.errors import NoPartitionError, ParamsError, RangeError, SpecChangedError
from airflow_idempotent.plan.resolve import Run, asked, empty_interval
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec

LOST = ("", "None", "null")
"""What an XCom that is gone looks like once a template has made text of it."""

INTERVALS = ("scheduled", "backfill")
"""Run types whose data interval is what they mean."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One partition that this task has to work on, and what was pinned for it when the run was planned.

    ``cutoff_given`` says that somebody asked for just this cutoff. ``low`` is from where an incremental query
    is read, ISO 8601 or a number; empty for the begin of the partition. ``high`` is up to which number an earlier try
    has read. ``known_until`` is its watermark, if there is one.
    """

    partition: Partition
    cutoff_ts: str
    lane: str
    skip_unchanged: bool = False
    dry_run: bool = False
    force: bool = False
    looks_back: bool = False
    cutoff_given: bool = False
    low: str = ""
    high: str = ""
    known_until: str = ""
    target: Literal["live", "shadow"] = "live"


def run_of(context: Mapping[str, Any], now: datetime) -> Run:
    """What is known of the run of a task, without its params."""
    dag_run = context.get("dag_run")
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    logical_date = context.get("logical_date")
    run_type = getattr(dag_run, "run_type", None)
    return Run(
        now=now,
        run_type=str(getattr(run_type, "value", run_type) or "manual"),
        logical_date=_plain(logical_date) if logical_date else None,
        interval=(_plain(start), _plain(end)) if start and end else None,
        partition_key=getattr(dag_run, "partition_key", None) or None,
    )


def attempt_of(context: Mapping[str, Any], lane: str) -> Attempt:
    """Which try of which task this is."""
    task = context.get("ti") or context.get("task_instance")
    if task is None:
        return Attempt(lane=lane)
    mapped = getattr(task, "map_index", -1)
    return Attempt(
        dag_id=task.dag_id,
        run_id=task.run_id,
        task_id=task.task_id,
        map_index=-1 if mapped is None else mapped,
        try_number=task.try_number or 1,
        lane=lane,
    )


def assignments(
    spec: LoadSpec,
    context: Mapping[str, Any],
    *,
    partition: str | None = None,
    planned: Any = None,
    needs_plan: bool = False,
) -> tuple[Assignment, ...]:
    """The partitions of this task: the one named, else those planned, else those the run means.

    ``needs_plan`` says that there was a plan: when it is lost, no other rule takes its place.

    Raises:
        NoPartitionError: nothing says which partitions are meant.
        RangeError: a key is not one of this table.
        SpecChangedError: the plan was made by another spec.
    """
    run = run_of(context, now=started(context))
    if partition is not None and partition not in LOST:
        return (Assignment(_parsed(spec, partition), run.now.isoformat(), run.lane),)
    if pointers := _pointers(planned):
        return tuple(_planned(spec, pointer, run) for pointer in pointers)
    if needs_plan:
        raise NoPartitionError(
            table=spec.table,
            reason="the plan of this run is lost (XCom)",
            hint="Clear the 'plan' task of this run with its downstream tasks.",
        )
    return tuple(Assignment(found, run.now.isoformat(), run.lane) for found in _meant(spec, run))


def started(context: Mapping[str, Any]) -> datetime:
    """When the run began: the same for all tries of its tasks, unlike the clock."""
    begin = getattr(context.get("dag_run"), "start_date", None)
    return _plain(begin) if isinstance(begin, datetime) else datetime.now(UTC)


def _meant(spec: LoadSpec, run: Run) -> tuple[Partition, ...]:
    if run.interval and run.interval[0] == run.interval[1] and (run.run_type in INTERVALS or not run.logical_date):
        raise empty_interval(spec, run.interval[0])
    if run.interval and not run.logical_date and not run.partition_key:
        return spec.grain.covering(*run.interval, spec.timezone)
    try:
        return tuple(item.partition for item in asked(spec, run))
    except NoPartitionError:
        raise NoPartitionError(
            table=spec.table,
            reason="this run has neither a data interval nor a logical date",
            hint="Trigger it with a logical date, or give the operator partition='2025-05-01'.",
        ) from None


def _planned(spec: LoadSpec, pointer: Mapping[str, Any], run: Run) -> Assignment:
    planned, found = str(pointer.get("spec_fingerprint") or ""), fingerprint(spec)
    if planned and planned != found:
        raise SpecChangedError(table=spec.table, planned=planned, found=found)
    return Assignment(
        partition=_parsed(spec, str(pointer["partition"])),
        cutoff_ts=str(pointer.get("cutoff_ts") or run.now.isoformat()),
        lane=str(pointer.get("lane") or run.lane),
        skip_unchanged=bool(pointer.get("skip_unchanged")),
        dry_run=bool(pointer.get("dry_run")),
        force=bool(pointer.get("force")),
        looks_back=bool(pointer.get("looks_back")),
        cutoff_given=bool(pointer.get("cutoff_given")),
        low=str(pointer.get("low") or ""),
        known_until=str(pointer.get("known_until") or ""),
        target="shadow" if pointer.get("target") == "shadow" else "live",
    )


def target_of(given: str | None, planned: Literal["live", "shadow"]) -> Literal["live", "shadow"]:
    """The table that an operator was told to load, else the one that the plan says.

    Raises:
        ParamsError: the word is neither.
    """
    if given in (None, *LOST):
        return planned
    if given not in ("live", "shadow"):
        raise ParamsError(table="", problems=(("target", f"{given!r} is neither live nor shadow"),))
    return "shadow" if given == "shadow" else "live"


def _pointers(planned: Any) -> tuple[Mapping[str, Any], ...]:
    """The pointers among what an XCom brought; anything else counts as lost."""
    found = [planned] if isinstance(planned, Mapping) else planned
    if isinstance(found, str) or not isinstance(found, Sequence):
        return ()
    return tuple(item for item in found if isinstance(item, Mapping) and item.get("partition"))


def _parsed(spec: LoadSpec, key: str) -> Partition:
    try:
        return spec.partition(key)
    except ValueError as error:
        raise RangeError(table=spec.table, from_date=key, to_date="", reason=str(error)) from None


def _plain(instant: datetime) -> datetime:
    """Airflow's own kind of datetime as the standard library's, in UTC."""
    utc = instant.astimezone(UTC)
    return datetime(*utc.timetuple()[:6], utc.microsecond, tzinfo=UTC)

"""When a table's DAG runs: always an interval timetable, the same on Airflow 2 and 3."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pendulum
from airflow.timetables.interval import CronDataIntervalTimetable, DeltaDataIntervalTimetable
from dateutil.relativedelta import relativedelta

from airflow_idempotent.errors import SpecError
from airflow_idempotent.spec.table import PRESETS, TableSpec


def timetable(spec: TableSpec) -> Any:
    """The timetable of a schedule: preset, cron or ISO 8601 duration; None runs by hand only.

    A cron text given to Airflow 3 as it is would have empty data intervals.

    Raises:
        SpecError: it is none of these.
    """
    if spec.schedule is None:
        return None
    if spec.schedule.upper().startswith("P"):
        return DeltaDataIntervalTimetable(_delta(spec))
    cron = PRESETS[spec.schedule][0] if spec.schedule in PRESETS else spec.schedule
    try:
        found = CronDataIntervalTimetable(cron, timezone=spec.timezone)
        found.validate()  # now, since Airflow would blame the whole DAG file
    except Exception as error:  # noqa: BLE001 - each library below has its own
        raise _no_schedule(spec, str(error)) from None
    return found


def last_instant(spec: TableSpec) -> datetime | None:
    """``end_date`` as a DAG takes it: the last instant at which an interval may begin, since ours is not included."""
    return spec.end - timedelta(microseconds=1) if spec.end else None


def _delta(spec: TableSpec) -> relativedelta:
    try:
        found = pendulum.parse(str(spec.schedule).upper())
    except ValueError as error:
        raise _no_schedule(spec, str(error)) from None
    if not isinstance(found, pendulum.Duration) or not found.total_seconds() > 0:
        raise _no_schedule(spec, "it lasts no time")
    return relativedelta(
        years=found.years,
        months=found.months,
        days=found.weeks * 7 + found.remaining_days,
        hours=found.hours,
        minutes=found.minutes,
        seconds=found.remaining_seconds,
    )


def _no_schedule(spec: TableSpec, reason: str) -> SpecError:
    text = f"{spec.schedule!r} is neither a preset, nor a cron expression, nor an ISO 8601 duration ({reason})"
    return SpecError(file=spec.table, problems=(("schedule", text),))

"""When a table's DAG runs: always an interval timetable, the same on Airflow 2 and 3."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pendulum
from airflow.timetables.interval import CronDataIntervalTimetable, DeltaDataIntervalTimetable
from dateutil.relativedelta import relativedelta

from airflow_idempotent.errors import SpecError
from airflow_idempotent.spec.table import PRESETS, TableSpec


def timetable(spec: TableSpec, option: str = "schedule") -> Any:
    """The timetable of a schedule of the spec: preset, cron or ISO 8601 duration; None runs by hand only.

    A cron text given to Airflow 3 as it is would have empty data intervals.

    Raises:
        SpecError: it is none of these.
    """
    if (schedule := spec.schedules[option]) is None:
        return None
    if schedule.upper().startswith("P"):
        return DeltaDataIntervalTimetable(_delta(spec, option, schedule))
    cron = PRESETS[schedule][0] if schedule in PRESETS else schedule
    try:
        found = CronDataIntervalTimetable(cron, timezone=spec.timezone)
        found.validate()  # now, since Airflow would blame the whole DAG file
    except Exception as error:  # noqa: BLE001 - each library below has its own
        raise _no_schedule(spec, option, schedule, str(error)) from None
    return found


def last_instant(spec: TableSpec) -> datetime | None:
    """``end_date`` as a DAG takes it: the last instant at which an interval may begin, since ours is not included."""
    return spec.end - timedelta(microseconds=1) if spec.end else None


def _delta(spec: TableSpec, option: str, schedule: str) -> relativedelta:
    try:
        found = pendulum.parse(schedule.upper())
    except ValueError as error:
        raise _no_schedule(spec, option, schedule, str(error)) from None
    if not isinstance(found, pendulum.Duration) or not found.total_seconds() > 0:
        raise _no_schedule(spec, option, schedule, "it lasts no time")
    return relativedelta(
        years=found.years,
        months=found.months,
        days=found.weeks * 7 + found.remaining_days,
        hours=found.hours,
        minutes=found.minutes,
        seconds=found.remaining_seconds,
    )


def _no_schedule(spec: TableSpec, option: str, schedule: str, reason: str) -> SpecError:
    text = f"{schedule!r} is neither a preset, nor a cron expression, nor an ISO 8601 duration ({reason})"
    return SpecError(file=spec.table, problems=((option, text),))

"""What no rule can load is refused, with column and count; the rest is measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from airflow_idempotent.core.actions import InspectBatch
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import (
    BadRowError,
    EventTimeMissingError,
    NullKeyError,
    NullVersionError,
    OutsidePartitionError,
    PrecisionError,
)
from airflow_idempotent.sql.statement import Statement

T = TypeVar("T")


def inspect(work: Work, action: InspectBatch, statement: Statement) -> None:
    """Read the one row of counts and bounds that the inspection of staging gives."""
    [(rows, min_version, max_version, min_time, max_time, outside, missing, *counts)] = work.session.query(statement)
    columns = work.step.target.select(action.columns)
    rounding = [(item.name, item.data_type) for item in columns if item.rounds]
    of_keys, of_digits = len(action.unique_key), len(action.unique_key) + len(rounding)
    nulls = _counted(action.unique_key, counts[:of_keys])
    scaled = [item for item in columns if item.scale is not None]
    of_scale = of_digits + len(scaled)
    lost, unfit = _counted(rounding, counts[of_keys:of_digits]), _counted(scaled, counts[of_digits:of_scale])
    too_late, before = counts[of_scale:] if action.late_since and action.event_time else (0, 0)
    if nulls and all(name in action.version for name, _ in nulls):
        raise NullVersionError(**work.where, columns=nulls)
    if nulls:
        raise NullKeyError(**work.where, columns=nulls)
    if outside:
        column = action.event_time or ""
        raise OutsidePartitionError(**work.where, column=column, count=outside, least=min_time, greatest=max_time)
    if missing:
        raise EventTimeMissingError(**work.where, column=action.event_time or "", count=missing)
    if lost:
        raise PrecisionError(**work.where, columns=tuple((*column, count) for column, count in lost))
    for item, count in unfit:
        reason, batch = f"{count} value(s) do not fit {item.data_type}", f"batch {work.step.manifest.batch_id}"
        raise BadRowError(**work.where, file=batch, line=None, column=item.name, reason=reason)
    work.rows = rows
    work.measure = replace(
        work.measure,
        staged_rows=rows + work.effects.rejected,
        min_version=min_version,
        max_version=max_version,
        min_event_time=min_time,
        max_event_time=max_time,
        late_rows=before - too_late,
        too_late_rows=too_late,
    )


def _counted(what: Iterable[T], counts: Iterable[int]) -> tuple[tuple[T, int], ...]:
    """What was counted at least once."""
    return tuple((item, count) for item, count in zip(what, counts, strict=True) if count)

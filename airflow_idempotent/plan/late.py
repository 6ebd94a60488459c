"""Late data: how far back a run reads, when its input ends, and what to type for rows that come later than that."""

from __future__ import annotations

from datetime import datetime, timedelta
from logging import INFO, WARNING
from zoneinfo import ZoneInfo

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Measure
from airflow_idempotent.core.window import Position
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.source import Query
from airflow_idempotent.spec.table import TableSpec


def lookback_start(spec: LoadSpec, partition: Partition) -> Partition:
    """The earliest partition that the run of this one looks at again; itself where there is no lookback."""
    return spec.lookback_start(partition) if isinstance(spec, TableSpec) else partition


def looked_back_at(spec: TableSpec, partition: Partition) -> tuple[Partition, ...]:
    """Earlier partitions that the scheduled run of this one reads again, oldest first; none before start_date."""
    found: list[Partition] = []
    for _ in range(spec.late_data.lookback):
        partition = spec.partition_before(partition)
        found.append(partition)
    return tuple(item for item in reversed(found) if spec.holds(item))


def is_incremental(spec: LoadSpec) -> bool:
    """Whether the table is fed by a query that a scheduled run reads from its watermark on."""
    source = getattr(spec, "source", None)
    return isinstance(source, Query) and source.cursor is not None


def read_from(spec: TableSpec, partition: Partition, watermark: Position | None) -> Position:
    """From where on the scheduled run of an incremental query reads: a lag below the watermark.

    Never less than its own partition and those of the lookback, whatever the watermark says; and never
    before start_date, where it begins without a watermark. By a number it begins with ``initial_value``.
    """
    source, lag = spec.source, spec.late_data.watermark_lag
    if isinstance(source, Query) and source.initial_value is not None:
        known = watermark if isinstance(watermark, int) else source.initial_value
        return max(known - (lag if isinstance(lag, int) else 0), source.initial_value)
    if not isinstance(watermark, datetime):
        return spec.begin
    lag = lag if isinstance(lag, timedelta) else timedelta(0)
    return max(min(watermark - lag, spec.lookback_start(partition).start), spec.begin)


def cutoff_of(spec: TableSpec, run_type: str, last: Partition | None, now: datetime) -> datetime:
    """After which instant input is ignored: by the spec so long after the interval; never later than now."""
    grace = spec.late_data.cutoff
    if grace is None or last is None or run_type not in ("scheduled", "backfill"):
        return now
    return min(now, last.end + grace)


def consecutive_since(spec: LoadSpec) -> datetime | None:
    """From where on each scheduled partition is to be published; None when some may be left out.

    By the scheduler without catchup, by the spec for lack of input, or by a DAG of which no spec is known.
    """
    if not isinstance(spec, TableSpec) or not spec.catchup or spec.on_empty == "skip":
        return None
    return spec.grain.partition(spec.begin, spec.timezone).start


def late_lines(spec: LoadSpec, partition: Partition, measure: Measure) -> tuple[tuple[int, str], ...]:
    """Log level and text of what there is to say of late rows; of those beyond the lookback with a command.

    The command runs again what may be made of their partitions. It is only said: nobody runs it but a person.
    Where no lookback is asked for, late rows are nothing to be warned of.
    """
    looks = isinstance(spec, TableSpec) and spec.late_data.lookback > 0
    lines = []
    if measure.late_rows:
        lines.append((INFO, f"late_rows={measure.late_rows}: dated before the partition, within the lookback"))
    if measure.too_late_rows:
        text = f"too_late_rows={measure.too_late_rows}: dated before the lookback, the oldest {measure.min_event_time}"
        lines.append((WARNING if looks else INFO, f"{text}; they are loaded. {_proposal(spec, partition, measure)}"))
    return tuple((level, line.rstrip()) for level, line in lines)


def _proposal(spec: LoadSpec, partition: Partition, measure: Measure) -> str:
    """The command for the partitions that the rows belong to."""
    if not isinstance(spec, TableSpec):
        return ""
    until = lookback_start(spec, partition)
    try:
        oldest = datetime.fromisoformat(measure.min_event_time or "")
    except ValueError:  # infinity, or a year of more than four digits
        return ""
    local = oldest if oldest.tzinfo else oldest.replace(tzinfo=ZoneInfo(spec.timezone))
    first = spec.grain.partition(max(local, spec.begin), spec.timezone)
    if first.start >= until.start:
        return ""
    conf = f'{{"from_date": "{_local(first, spec)}", "to_date": "{_local(until, spec)}"}}'
    return f"To run their partitions again: airflow dags trigger {spec.id} --conf '{conf}'"


def _local(partition: Partition, spec: TableSpec) -> str:
    """The begin of a partition as the params of a run take it."""
    begin = partition.start.astimezone(ZoneInfo(spec.timezone))
    return begin.date().isoformat() if (begin.hour, begin.minute) == (0, 0) else begin.isoformat()

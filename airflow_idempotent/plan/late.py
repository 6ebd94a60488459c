"""Late rows: from when on they are within the lookback, and what to type for those that are not."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Measure
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform


def lookback_start(spec: LoadSpec, partition: Partition) -> Partition:
    """The earliest partition that the run of this one looks at again; itself where there is no lookback."""
    return spec.lookback_start(partition) if isinstance(spec, TableSpec) else partition


def consecutive_since(spec: LoadSpec) -> datetime | None:
    """From where on each scheduled partition is to be published; None when some may be left out.

    By the scheduler without catchup, by the spec for lack of input, or by a DAG of which no spec is known.
    """
    if not isinstance(spec, TableSpec) or not spec.catchup or spec.on_empty == "skip":
        return None
    return spec.grain.partition(spec.begin, spec.timezone).start


def late_lines(spec: LoadSpec, partition: Partition, measure: Measure) -> tuple[str, ...]:
    """What to say of late rows; of those beyond the lookback the command that reads their partitions again.

    The command is only said: nobody runs it but a person.
    """
    lines = []
    if measure.late_rows:
        lines.append(f"late_rows={measure.late_rows}: dated before the partition, within the lookback")
    if measure.too_late_rows:
        said = f"too_late_rows={measure.too_late_rows}: dated before the lookback, the oldest {measure.min_event_time}"
        lines.append(f"{said}. {_proposal(spec, partition, measure)}".rstrip())
    return tuple(lines)


def _proposal(spec: LoadSpec, partition: Partition, measure: Measure) -> str:
    """The command for the partitions that the rows belong to."""
    if not isinstance(spec, TableSpec):
        return ""
    until = lookback_start(spec, partition)
    try:
        oldest = datetime.fromisoformat(measure.min_event_time or "")
        local = oldest if oldest.tzinfo else oldest.replace(tzinfo=ZoneInfo(spec.timezone))
        first = spec.grain.partition(local, spec.timezone)
    except ValueError:  # infinity, or a year of more than four digits
        return ""
    if not spec.holds(first):
        first = spec.grain.partition(spec.begin, spec.timezone)
    if first.start >= until.start:
        return ""
    conf = f'{{"from_date": "{_local(first, spec)}", "to_date": "{_local(until, spec)}"}}'
    what = "inputs of those partitions" if isinstance(spec.source, Transform) else "those partitions"
    return f"If the {what} have to be read again: airflow dags trigger {spec.id} --conf '{conf}'"


def _local(partition: Partition, spec: TableSpec) -> str:
    """The begin of a partition as the params of a run take it."""
    begin = partition.start.astimezone(ZoneInfo(spec.timezone))
    return begin.date().isoformat() if (begin.hour, begin.minute) == (0, 0) else begin.isoformat()

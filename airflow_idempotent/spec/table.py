"""A table as its spec file describes it: how rows get in, where they come from, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, field_validator

from airflow_idempotent.core.opening import DailyWindow
from airflow_idempotent.core.partition import Grain, Partition
from airflow_idempotent.spec.audit import Audit
from airflow_idempotent.spec.durations import Duration, Lag
from airflow_idempotent.spec.load import LoadSpec, Problem
from airflow_idempotent.spec.publish import Publish, named_publish
from airflow_idempotent.spec.source import Files, Model, Query, Source
from airflow_idempotent.spec.transform import NO_PLACE, Transform
from airflow_idempotent.spec.words import meant

PRESETS = {
    "@hourly": ("0 * * * *", Grain.HOUR),
    "@daily": ("0 0 * * *", Grain.DAY),
    "@weekly": ("0 0 * * 1", Grain.WEEK),
    "@monthly": ("0 0 1 * *", Grain.MONTH),
    "@yearly": ("0 0 1 1 *", Grain.YEAR),
}

OVERLAPPING = ("merge", "insert_only", "cdc", "scd2")
"""Strategies under which a row may come again with the batch of another partition."""


NUMBERS = ("smallint", "integer", "bigint", "numeric")
"""Types of a cursor that is a number."""

AUDIT_SUFFIX = "__audit"
"""What the DAG of an audit is called, behind the name of the table's DAG."""


class LateData(Model):
    """Rows that arrive after their partition was loaded."""

    lookback: int = Field(
        0,
        ge=0,
        le=366,
        description="Earlier partitions that each scheduled run reads again; only those that changed are rewritten.",
    )
    cutoff: Duration | None = Field(
        None,
        description="How long after its interval a scheduled or backfill run takes input: :cutoff_ts is the end of the "
        "interval plus this, e.g. 6h, and never later than the planning of the run, which is the default.",
    )
    watermark_lag: Lag | None = Field(
        None,
        description="How far below the watermark an incremental query reads again, e.g. 15m, or 1000 where the cursor "
        "is an integer: for sources whose rows may be committed with an older cursor than others had before.",
    )

    @field_validator("cutoff", "watermark_lag")
    @classmethod
    def _not_before(cls, value: timedelta | int | None) -> timedelta | int | None:
        if value is not None and (value < 0 if isinstance(value, int) else value < timedelta(0)):
            raise ValueError("cannot be negative")
        return value


class Backfill(Model):
    """How wide a range is worked on."""

    partitions_per_task: int = Field(1, ge=1, le=1000, description="Partitions folded into one mapped task.")
    max_active_tasks: int = Field(
        4, ge=1, description="Mapped tasks of this table that run at once, over all its runs."
    )


def scheduled(value: Any) -> Any:
    """An audit by its schedule alone, as the mapping it stands for."""
    return {"schedule": value} if isinstance(value, str) else value


class TableSpec(LoadSpec):
    """One table. Unknown options are errors; ``defaults.yml`` beside the file is inherited."""

    description: str = Field("", description="Shown as the DAG's documentation.")
    source: Source = Field(description="Where the rows of a partition come from.")
    schedule: str | None = Field(
        "@daily", description="Preset, cron or ISO 8601 duration; always an interval timetable. null: manual only."
    )
    start_date: datetime = Field(description="Begin of the first partition.")
    end_date: datetime | None = Field(None, description="End of the last partition, not included.")
    catchup: bool = Field(True, description="Whether the scheduler runs the intervals that it missed.")
    dag_id: str = Field("", description="Default: the table's name.", pattern=r"^[\w.\-]*$", max_length=250)
    owner: str = Field("airflow", description="Owner of the tasks.")
    tags: tuple[Annotated[str, Field(max_length=100)], ...] = Field((), description="Tags of the DAG.")
    pool: str | None = Field(None, description="Airflow pool of the tasks that write.")
    retries: int = Field(3, ge=0, description="Tries after the first, per task.")
    retry_delay: float = Field(60, ge=0, description="Seconds before each retry.")
    max_active_runs: int = Field(
        1, ge=1, description="Scheduled runs at once; a native backfill has a limit of its own."
    )
    publish: Annotated[Publish, BeforeValidator(named_publish)] = Field(
        default_factory=Publish, description="How a version of the table becomes what readers read."
    )
    late_data: LateData = Field(
        default_factory=LateData, description="Rows that come after their partition was loaded."
    )
    backfill: Backfill = Field(default_factory=Backfill, description="How wide a range is worked on.")
    audit: Annotated[Audit | None, BeforeValidator(scheduled)] = Field(
        None, description="Look for drift in a DAG of its own: a schedule, or a mapping; default: none."
    )

    @field_validator("start_date", "end_date", mode="before")
    @classmethod
    def _an_instant(cls, value: Any) -> Any:
        digits = str(value).strip().lstrip("+-").replace(".", "", 1)
        if isinstance(value, int | float) or (isinstance(value, str) and digits.isdecimal()):
            raise ValueError(f"{value!r} is not a date, write it like 2025-05-01")  # not seconds since 1970
        is_date = isinstance(value, date) and not isinstance(value, datetime)
        return datetime.combine(value, time.min) if is_date else value

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if isinstance(self.source, Files):
            yield from self.source.problems(self.column_names)
        if isinstance(self.source, Query):
            yield from self._incremental(self.source)
        if self.quarantines and isinstance(self.source, Transform):
            yield "reject.mode", f"'quarantine' {NO_PLACE}"
        for option, schedule in self.schedules.items():
            if schedule and schedule.startswith("@") and schedule not in PRESETS:
                valid = f"{', '.join(PRESETS)}, a cron expression or an ISO 8601 duration"
                yield option, f"unknown preset {schedule!r}: {valid}"
        if self.end and self.end <= self.begin:
            yield "end_date", "must be after start_date"
        if isinstance(self.source, Transform):
            for name in dict.fromkeys([*self.unique_key, *self.version, *self.column_names]):
                if name not in self.source.columns:
                    yield "source.sql", f"column {name!r} is not selected{meant(name, self.source.columns)}"

    def _incremental(self, source: Query) -> Iterator[Problem]:
        """What an incremental query asks of the rest: batches overlap, so that rows must know which is newer."""
        if not source.cursor:
            if self.late_data.watermark_lag is not None:
                yield "late_data.watermark_lag", "means nothing without source.cursor: what orders the source's rows?"
            return
        if self.strategy.kind not in OVERLAPPING or self.strategy.stays_inside:
            yield (
                "source.cursor",
                f"strategy {self.strategy.kind!r} cannot take batches that overlap: use {', '.join(OVERLAPPING)}",
            )
        if not self.version:
            yield "version", "required by source.cursor: batches overlap, which row of a key is newer?"
        if self.column_names and source.cursor not in self.column_names:
            yield (
                "source.cursor",
                f"column {source.cursor!r} is not in 'columns'{meant(source.cursor, self.column_names)}",
            )
        yield from self._kind_of_cursor(source)

    def _kind_of_cursor(self, source: Query) -> Iterator[Problem]:
        """What a number as a cursor asks of the rest, and a time."""
        lag, numbered = self.late_data.watermark_lag, source.initial_value is not None
        kind = next((item.base_type for item in self.created_columns() if item.name == source.cursor), "")
        if numbered and kind and kind not in NUMBERS:
            yield "source.initial_value", f"column {source.cursor!r} is {kind}, an integer was expected"
        if not numbered and kind in NUMBERS:
            text = f"required where the cursor is an integer ({source.cursor!r} is {kind}): where does it begin?"
            yield "source.initial_value", text
        if isinstance(lag, int) and lag and not numbered:
            yield "late_data.watermark_lag", f"{lag!r} has no unit, write it like '15m', '6h' or '2d'"
        if not numbered:
            return
        if isinstance(lag, timedelta) and lag:
            yield "late_data.watermark_lag", "is a number where the cursor is one (source.initial_value), e.g. 1000"
        if self.late_data.lookback:
            yield "late_data.lookback", "means nothing where the cursor is an integer: use late_data.watermark_lag"
        if not self.partition_column:
            yield "event_time", "required by source.initial_value: an integer does not say which partition a row is of"

    def lookback_start(self, partition: Partition) -> Partition:
        """The earliest partition that the scheduled run of this one reads again; itself without a lookback."""
        for _ in range(self.late_data.lookback):
            partition = self.partition_before(partition)
        return partition

    def partition_before(self, partition: Partition) -> Partition:
        """The partition that ends where this one begins."""
        return self.grain.partition(partition.start - (partition.end - partition.start) / 2, self.timezone)

    @property
    def begin(self) -> datetime:
        """``start_date`` as an instant."""
        return self._local(self.start_date)

    @property
    def end(self) -> datetime | None:
        """``end_date`` as an instant, not included; None when open."""
        return self._local(self.end_date) if self.end_date else None

    @property
    def grain(self) -> Grain:
        preset = PRESETS.get(self.schedule or "")
        given = "grain" in self.partition_by.model_fields_set
        return preset[1] if preset and not given else self.partition_by.grain

    @property
    def schedules(self) -> dict[str, str | None]:
        """Every schedule of the table, by the option that says it."""
        return {"schedule": self.schedule} | ({"audit.schedule": self.audit.schedule} if self.audit else {})

    @property
    def cutover_window(self) -> DailyWindow | None:
        """The time of day in which a version may be swapped in; None when it may at any."""
        return DailyWindow.parse(self.publish.window, self.timezone) if self.publish.window else None

    @property
    def id(self) -> str:
        """The id of the table's DAG."""
        return self.dag_id or default_dag_id(self.table)

    @property
    def audit_id(self) -> str:
        """The id of the DAG that audits the table; empty when there is none."""
        return f"{self.id}{AUDIT_SUFFIX}" if self.audit else ""

    def _local(self, value: datetime) -> datetime:
        return value if value.tzinfo else value.replace(tzinfo=ZoneInfo(self.timezone))

    def holds(self, partition: Partition) -> bool:
        """Whether the partition lies inside ``[start_date, end_date)``."""
        return partition.end > self.begin and (self.end is None or partition.start < self.end)


def default_dag_id(table: str) -> str:
    """The id of a table's DAG where the spec gives none."""
    return table.replace('"', "").replace(" ", "_")


def inherit(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` over ``defaults``; mappings are merged option by option, everything else is replaced."""
    merged = dict(defaults)
    for name, value in values.items():
        below = merged.get(name)
        merged[name] = inherit(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged

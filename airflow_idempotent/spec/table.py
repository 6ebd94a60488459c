"""A table as its spec file describes it: how rows get in, where they come from, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, field_validator

from airflow_idempotent.core.partition import Grain, Partition
from airflow_idempotent.spec.load import LoadSpec, Problem
from airflow_idempotent.spec.publish import Publish, named_publish
from airflow_idempotent.spec.source import Files, Model, Source
from airflow_idempotent.spec.transform import NO_PLACE, Transform
from airflow_idempotent.spec.words import meant

PRESETS = {
    "@hourly": ("0 * * * *", Grain.HOUR),
    "@daily": ("0 0 * * *", Grain.DAY),
    "@weekly": ("0 0 * * 1", Grain.WEEK),
    "@monthly": ("0 0 1 * *", Grain.MONTH),
    "@yearly": ("0 0 1 1 *", Grain.YEAR),
}


class LateData(Model):
    """Rows that arrive after their partition was loaded."""

    lookback: int = Field(0, ge=0, le=366, description="Earlier partitions that each scheduled run reads again.")


class Backfill(Model):
    """How wide a range is worked on."""

    partitions_per_task: int = Field(1, ge=1, le=1000, description="Partitions folded into one mapped task.")
    max_active_tasks: int = Field(
        4, ge=1, description="Mapped tasks of this table that run at once, over all its runs."
    )


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
        if self.quarantines and isinstance(self.source, Transform):
            yield "reject.mode", f"'quarantine' {NO_PLACE}"
        if self.schedule and self.schedule.startswith("@") and self.schedule not in PRESETS:
            yield (
                "schedule",
                f"unknown preset {self.schedule!r}: {', '.join(PRESETS)}, a cron expression or an ISO 8601 duration",
            )
        if self.end and self.end <= self.begin:
            yield "end_date", "must be after start_date"
        if isinstance(self.source, Transform):
            for name in dict.fromkeys([*self.unique_key, *self.version, *self.column_names]):
                if name not in self.source.columns:
                    yield "source.sql", f"column {name!r} is not selected{meant(name, self.source.columns)}"

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
    def id(self) -> str:
        """The id of the table's DAG."""
        return self.dag_id or default_dag_id(self.table)

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

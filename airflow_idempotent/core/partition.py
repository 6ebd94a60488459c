"""Partitions: half-open slices of a table's time axis, cut by a grain in a time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from functools import lru_cache
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """One slice of a table's time axis, half-open: ``start <= t < end``.

    Bounds are timezone-aware and kept in UTC, so that equal instants are equal
    partitions whatever zone the scheduler runs in. ``key`` is how people name it
    (``2025-05-01``), ``zone`` the time zone whose calendar cut it.

    Raises:
        ValueError: a bound is naive, or the slice is empty.
    """

    start: datetime
    end: datetime
    key: str = field(default="", compare=False)
    zone: str = field(default="UTC", compare=False)

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError(f"partition bounds need a time zone: {self.start}, {self.end}")
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "end", self.end.astimezone(UTC))
        if self.start >= self.end:
            raise ValueError(f"empty partition: {self.start} is not before {self.end}")
        if not self.key:
            object.__setattr__(self, "key", f"{self.start:%Y-%m-%dT%H%M%S}")

    def __str__(self) -> str:
        return self.key

    @property
    def compact(self) -> str:
        """The key without punctuation, as used in batch ids: ``20250501``."""
        return re.sub(r"[^0-9A-Za-z]", "", self.key)

    def bounds(self, data_type: str) -> tuple[date | datetime, date | datetime]:
        """The bounds as a column of ``data_type`` compares them: dates, local or absolute times."""
        if data_type == "date" or data_type == "timestamp" or "without time zone" in data_type:
            local = [bound.astimezone(_zone(self.zone)).replace(tzinfo=None) for bound in (self.start, self.end)]
            return (local[0].date(), local[1].date()) if data_type == "date" else (local[0], local[1])
        return self.start, self.end


class Grain(Enum):
    """The size of a partition. All arithmetic is calendar arithmetic in the zone given (IANA name)."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    def __str__(self) -> str:
        return str(self.value)

    def partition(self, instant: datetime, zone: str = "UTC") -> Partition:
        """The partition that contains the instant."""
        start = self._floor(instant.astimezone(_zone(zone)))
        return Partition(start, self._next(start), key=self._key(start), zone=zone)

    def partitions(self, start: datetime, end: datetime, zone: str = "UTC") -> Iterator[Partition]:
        """Every partition from the one containing ``start`` to the last that begins before ``end``."""
        current = self.partition(start, zone)
        while current.start < end.astimezone(UTC):
            yield current
            current = self.partition(current.end, zone)

    def covering(self, start: datetime, end: datetime, zone: str = "UTC") -> tuple[Partition, ...]:
        """The partitions a data interval stands for: those it completes, else the one it lies in.

        A daily run at 09:30 covers the day its interval began; an hourly run of a daily table
        covers the day it lies in.
        """
        last = self.partition(end, zone)
        return tuple(self.partitions(start, last.start, zone)) or (self.partition(start, zone),)

    def parse(self, key: str, zone: str = "UTC") -> Partition:
        """The partition of that key.

        Raises:
            ValueError: the key is not one of this grain; the message shows one that is.
        """
        example = self._key(datetime(2025, 5, 1, tzinfo=UTC))
        try:
            found = self.partition(self._instant(key, _zone(zone)), zone)
        except ValueError:
            found = None
        if found is None or found.key != key:
            raise ValueError(f"{key!r} is not a {self} partition, write it like {example!r}")
        return found

    def _floor(self, local: datetime) -> datetime:
        hour = local.replace(minute=0, second=0, microsecond=0)
        if self is Grain.HOUR:
            return hour
        day = hour.replace(hour=0, fold=0)
        match self:
            case Grain.WEEK:
                return day - timedelta(days=day.weekday())
            case Grain.MONTH:
                return day.replace(day=1)
            case Grain.YEAR:
                return day.replace(month=1, day=1)
            case _:
                return day

    def _next(self, local: datetime) -> datetime:
        match self:
            case Grain.HOUR:
                return (local.astimezone(UTC) + timedelta(hours=1)).astimezone(local.tzinfo)
            case Grain.DAY:
                return local + timedelta(days=1)
            case Grain.WEEK:
                return local + timedelta(days=7)
            case Grain.MONTH:
                return (local + timedelta(days=32)).replace(day=1)
            case Grain.YEAR:
                return local.replace(year=local.year + 1)

    def _key(self, local: datetime) -> str:
        match self:
            case Grain.HOUR:
                return f"{local:%Y-%m-%dT%H}" + ("-2" if local.fold else "")
            case Grain.DAY:
                return f"{local:%Y-%m-%d}"
            case Grain.WEEK:
                return "{:04d}-W{:02d}".format(*local.isocalendar()[:2])
            case Grain.MONTH:
                return f"{local:%Y-%m}"
            case Grain.YEAR:
                return f"{local:%Y}"

    def _instant(self, key: str, zone: ZoneInfo) -> datetime:
        if self is Grain.HOUR:
            hour, fold = (key[:-2], 1) if len(key) == len("2024-11-03T01-2") and key.endswith("-2") else (key, 0)
            return datetime.strptime(hour, "%Y-%m-%dT%H").replace(tzinfo=zone, fold=fold)
        if self is Grain.WEEK:
            return datetime.strptime(key + "-1", "%G-W%V-%u").replace(tzinfo=zone)
        form = {Grain.DAY: "%Y-%m-%d", Grain.MONTH: "%Y-%m", Grain.YEAR: "%Y"}[self]
        return datetime.strptime(key, form).replace(tzinfo=zone)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)

"""Partitions: half-open slices of a table's time axis, cut by a grain in a time zone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from functools import lru_cache
from zoneinfo import ZoneInfo

AGAIN = "-2"
"""Ends the key of an hour that the wall clock shows for the second time."""


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
        return self.as_compared(self.start, data_type), self.as_compared(self.end, data_type)

    def as_compared(self, moment: datetime, data_type: str) -> date | datetime:
        """An instant as a column of ``data_type`` compares it, in the zone of the partition."""
        kind = _time_kind(data_type)
        if kind == "instant" or not kind:
            return moment
        local = moment.astimezone(_zone(self.zone)).replace(tzinfo=None)
        return local.date() if kind == "date" else local

    def earlier(self, days: int) -> tuple[datetime, datetime]:
        """Start and end of the same slice so many days of its calendar before."""
        zone = _zone(self.zone)
        local = (bound.astimezone(zone).replace(tzinfo=None) - timedelta(days) for bound in (self.start, self.end))
        start, end = (_instant(bound, zone) for bound in local)
        return start, end

    def spans(self, least: str, greatest: str, data_type: str) -> bool:
        """Whether both values, as PostgreSQL prints them, lie in the partition; what Python cannot read does not."""
        start, end = (_instant_of(bound) for bound in self.bounds(data_type))
        try:
            first, last = (_instant_of(datetime.fromisoformat(text)) for text in (least, greatest))
        except ValueError:  # infinity, or a year of more than four digits
            return False
        return start <= first and last < end


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
        found = self._from(instant, zone)
        while found.end <= instant:  # the clock was put back over the boundary: these minutes belong to what follows
            found = self._from(found.end, zone)
        return found

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

    @classmethod
    def named(cls, key: str, zone: str = "UTC") -> Partition:
        """The partition of that key, of whatever grain: keys of no two grains look alike.

        Raises:
            ValueError: it is a key of none.
        """
        for grain in cls:
            with suppress(ValueError):
                return grain.parse(key, zone)
        raise ValueError(f"{key!r} is no partition: write it like 2025, 2025-05, 2025-W18, 2025-05-01 or 2025-05-01T06")

    def parse(self, key: str, zone: str = "UTC") -> Partition:
        """The partition of that key.

        Raises:
            ValueError: the key is not one of this grain; the message shows one that is.
        """
        try:
            found = self.partition(_instant(self._read(key), _zone(zone)), zone)
            if found.key == key:
                return found
            if key.endswith(AGAIN) and (second := self.partition(found.end, zone)).key == key:
                return second
        except (ValueError, OverflowError):
            pass
        example = self._key(datetime(2025, 5, 1))  # noqa: DTZ001, a local time
        raise ValueError(f"{key!r} is not a {self} partition, write it like {example!r}")

    def _from(self, instant: datetime, zone: str) -> Partition:
        """The partition of the calendar that the wall clock shows at that instant."""
        place = _zone(zone)
        if self is Grain.HOUR:
            start, end = _hour(instant.astimezone(UTC), place)
            return Partition(start, end, key=self._key(start.astimezone(place)), zone=zone)
        first = self._floor(instant.astimezone(place).replace(tzinfo=None, fold=0))
        start, following = _instant(first, place), self._next(first)
        while _instant(following, place) <= start:  # a day that the calendar skipped
            following = self._next(following)
        return Partition(start, _instant(following, place), key=self._key(first), zone=zone)

    def _floor(self, local: datetime) -> datetime:
        day = local.replace(hour=0, minute=0, second=0, microsecond=0)
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
            case Grain.WEEK:
                return local + timedelta(days=7)
            case Grain.MONTH:
                return (local + timedelta(days=32)).replace(day=1)
            case Grain.YEAR:
                return local.replace(year=local.year + 1)
            case _:
                return local + timedelta(days=1)

    def _key(self, local: datetime) -> str:
        match self:
            case Grain.HOUR:
                return f"{local:%Y-%m-%dT%H}" + (AGAIN if local.fold else "")
            case Grain.DAY:
                return f"{local:%Y-%m-%d}"
            case Grain.WEEK:
                year, week, _ = local.isocalendar()
                return f"{year:04d}-W{week:02d}"
            case Grain.MONTH:
                return f"{local:%Y-%m}"
            case Grain.YEAR:
                return f"{local:%Y}"

    def _read(self, key: str) -> datetime:
        """The local time at which a partition of that key begins."""
        if self is Grain.HOUR:
            again = key.count("-") > 2
            return _read(key.removesuffix(AGAIN) if again else key, "%Y-%m-%dT%H").replace(fold=int(again))
        if self is Grain.WEEK:
            return _read(key + "-1", "%G-W%V-%u")
        return _read(key, {Grain.DAY: "%Y-%m-%d", Grain.MONTH: "%Y-%m", Grain.YEAR: "%Y"}[self])


def _read(text: str, form: str) -> datetime:
    return datetime.strptime(text, form)  # noqa: DTZ007, a local time


def is_time(data_type: str) -> bool:
    """Whether a column of that type can say which partition a row belongs to."""
    return bool(_time_kind(data_type))


def _time_kind(data_type: str) -> str:
    """``date``, ``local`` or ``instant``, however the type is spelled; empty for any other."""
    plain = re.sub(r"\s*\([^)]*\)", "", data_type).strip().lower()
    return {
        "date": "date",
        "timestamp": "local",
        "timestamp without time zone": "local",
        "timestamptz": "instant",
        "timestamp with time zone": "instant",
    }.get(plain, "")


def _instant_of(value: date | datetime) -> datetime:
    """A date or local time as if the clocks ran in UTC, for comparison with others of its kind."""
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _instant(local: datetime, zone: ZoneInfo) -> datetime:
    """The first instant at which the wall clock shows that time, or a later one where it was put forward over it."""
    found = local.replace(tzinfo=zone).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == local:
        return found
    return _change(local.replace(tzinfo=zone, fold=1).astimezone(UTC), found, zone)


def _hour(instant: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The hour of the wall clock around an instant; cut where the clock is moved by less than an hour."""
    start = instant - _past_hour(instant, zone)
    if _past_hour(start, zone):
        start = _change(start, instant, zone)
    end = start + timedelta(hours=1) - _past_hour(start, zone)
    if _past_hour(end, zone):
        end = _change(start, end, zone)
    return start, end


def _past_hour(instant: datetime, zone: ZoneInfo) -> timedelta:
    local = instant.astimezone(zone)
    return timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)


def _change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The second at which the zone's offset changes between two instants."""
    offset = before.astimezone(zone).utcoffset()
    low, high = 0, math.ceil((after - before).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        unchanged = (before + timedelta(seconds=middle)).astimezone(zone).utcoffset() == offset
        low, high = (middle, high) if unchanged else (low, middle)
    return before + timedelta(seconds=high)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)

"""The time of day at which something may happen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

_WRITTEN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class DailyWindow:
    """From ``start`` to ``end``, not included, of every day in a time zone; over midnight when it ends first."""

    start: time
    end: time
    timezone: str = "UTC"

    @classmethod
    def parse(cls, text: str, timezone: str = "UTC") -> DailyWindow:
        """Read ``01:00-05:00``.

        Raises:
            ValueError: it is not written like that, or has no length.
        """
        found = _WRITTEN.fullmatch(text.strip())
        if found is None or found.group(1, 2) == found.group(3, 4):
            raise ValueError(f"{text!r} is not a time of day, write it like '01:00-05:00'")
        hour, minute, until_hour, until_minute = map(int, found.groups())
        return cls(time(hour, minute), time(until_hour, until_minute), timezone)

    def is_open(self, now: datetime) -> bool:
        """Whether that instant lies in it."""
        local = now.astimezone(ZoneInfo(self.timezone)).time()
        if self.start < self.end:
            return self.start <= local < self.end
        return local >= self.start or local < self.end

    def opens(self, now: datetime) -> datetime:
        """The next instant at which it opens, after ``now``."""
        local = now.astimezone(ZoneInfo(self.timezone))
        today = local.replace(hour=self.start.hour, minute=self.start.minute, second=0, microsecond=0, fold=0)
        found = today if today > local else today + timedelta(days=1)  # the same wall clock, whatever the offset
        return found.astimezone(now.tzinfo)

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M} {self.timezone}"

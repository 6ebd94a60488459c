"""Spans of time as people write them: ``15m``, ``6h``, ``2d``, or ISO 8601."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PLAIN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)", re.IGNORECASE)
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


def duration(value: Any) -> Any:
    """A text as a span of time; what is one already stays.

    Raises:
        ValueError: it is not written like one.
    """
    if not isinstance(value, str):
        if isinstance(value, int | float) and value != 0:
            raise ValueError(f"{value!r} has no unit, write it like '15m', '6h' or '2d'")
        return timedelta(0) if value == 0 else value
    text = value.strip()
    if found := _PLAIN.fullmatch(text):
        return timedelta(**{_UNITS[found[2].lower()]: float(found[1])})
    if (found := _ISO.fullmatch(text)) and any(found.groups()) and not text.endswith("T"):
        weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    raise ValueError(f"{value!r} is not a span of time, write it like '15m', '6h' or '2d'")


def lag(value: Any) -> Any:
    """A span of a cursor: whole numbers count, anything else is a span of time.

    Raises:
        ValueError: it is neither.
    """
    return value if isinstance(value, int) and not isinstance(value, bool) else duration(value)


Duration = Annotated[
    timedelta,
    BeforeValidator(duration),
    WithJsonSchema({"type": "string", "examples": ["15m", "6h", "2d", "PT15M"]}),
]
Lag = Annotated[
    timedelta | int,
    BeforeValidator(lag),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["15m", "6h", 1000]}),
]

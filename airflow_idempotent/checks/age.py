"""Lengths of time as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_WORDS = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "day": "d", "week": "w"}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


def parse_age(text: str) -> timedelta:
    """``36h``, ``1d 12h``, ``90 minutes``, ``P1DT12H``.

    Raises:
        ValueError: it is none of these.
    """
    if text.strip() != "P" and (found := _ISO.fullmatch(text.strip().upper())) and any(found.groups()):
        seconds = (
            int(number or 0) * size for number, size in zip(found.groups(), sorted(_UNITS.values())[::-1], strict=True)
        )
        return timedelta(seconds=sum(seconds))
    rest, total = text.strip().lower(), 0.0
    while piece := _PIECE.match(rest):
        word = piece[2]
        unit = word if word in _UNITS else _WORDS.get(word.removesuffix("s"))
        if unit is None:
            break
        total, rest = total + float(piece[1]) * _UNITS[unit], rest[piece.end() :]
    if rest or not text.strip():
        raise ValueError(f"{text!r} is no length of time, write it like 36h, '1d 12h' or P1DT12H")
    return timedelta(seconds=total)


def spoken(span: timedelta) -> str:
    """A length of time in its two greatest units: ``1d 12h``."""
    seconds, words = abs(int(span.total_seconds())), []
    for unit, size in sorted(_UNITS.items(), key=lambda item: -item[1])[1:]:
        count, seconds = divmod(seconds, size)
        if count:
            words.append(f"{count}{unit}")
    return " ".join(words[:2]) or "0s"

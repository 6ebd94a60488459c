"""Renders Python values as CSV the way PostgreSQL's COPY reads them back; equal values give equal text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from airflow_idempotent.core.manifest import CsvFormat


class CsvText:
    """Writes records of one format. NULL is its bare null text; a text that looks like it is quoted."""

    def __init__(self, form: CsvFormat) -> None:
        self._delimiter, self._quote, self._null = form.delimiter, form.quote, form.null
        self._special = re.compile(f"[{re.escape(form.delimiter)}{re.escape(form.quote)}\r\n]").search

    def header(self, names: Iterable[str]) -> bytes:
        """The first record."""
        return self.rows([list(names)])

    def rows(self, rows: Iterable[Sequence[Any]]) -> bytes:
        """Records, each with its line end, in UTF-8."""
        field, delimiter = self._field, self._delimiter
        return "".join([delimiter.join([field(value) for value in row]) + "\n" for row in rows]).encode()

    def _field(self, value: Any) -> str:
        if value is None:
            return self._null
        text = value if type(value) is str else as_text(value)
        # Quoted too: what would be read as NULL, as nothing, or as the end of the data.
        if text in ("", self._null, "\\.") or self._special(text):
            return self._quote + text.replace(self._quote, self._quote * 2) + self._quote
        return text


def as_text(value: Any) -> str:
    """One value other than None, before quoting."""
    render = _RENDERERS.get(type(value))
    if render is None:  # a subclass, e.g. pendulum's DateTime
        render = next((_RENDERERS[kind] for kind in type(value).__mro__ if kind in _RENDERERS), str)
    return render(value)


def _float(value: float) -> str:
    if math.isfinite(value):
        return float.__repr__(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _datetime(value: datetime) -> str:
    return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat(" ")


def _interval(value: timedelta) -> str:
    return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"


def _bytes(value: bytes | bytearray | memoryview) -> str:
    return "\\x" + value.hex()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _decimal(value: Decimal) -> str:
    return format(value, "f") if value.is_finite() else _float(float(value))


_RENDERERS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "t" if value else "f",
    int: int.__repr__,
    float: _float,
    Decimal: _decimal,
    datetime: _datetime,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: _interval,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    dict: _json,
    list: _json,
    tuple: _json,
    str: str.__str__,
}

"""Values of any Python library as those that ``CsvText`` writes: arrays as PostgreSQL reads them, scalars plain."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from airflow_idempotent.landing.csv_text import as_text

_KNOWN = frozenset({str, bool, int, float, bytes, type(None), Decimal, datetime, date, time, timedelta, UUID})
_ADDRESS = re.compile(r"<.* at 0x[0-9a-fA-F]+>", re.DOTALL)
_NEEDS_QUOTES = set('{},"\\ \t\r\n\v\f')


def plain_value(value: Any, *, as_json: bool = False) -> Any:
    """The value as ``CsvText`` takes it. A list or tuple becomes an array literal, or JSON where that is asked for.

    Raises:
        ValueError: two runs would write it differently, or nobody says how it is written.
    """
    if type(value) in _KNOWN:
        return value
    if hasattr(value, "tolist") and not isinstance(value, memoryview):  # numpy: arrays, and scalars of its own types
        value = value.tolist()
    if isinstance(value, list | tuple) and not as_json:
        return array_literal(value)
    if isinstance(value, set | frozenset):
        raise ValueError(f"a {type(value).__name__} has no order, write sorted(…)")
    if _ADDRESS.fullmatch(as_text(value)):
        raise ValueError(f"{type(value).__name__} has no text, convert it")
    return value


def array_literal(values: list[Any] | tuple[Any, ...]) -> str:
    """``{1,NULL,"a b"}``: an array of PostgreSQL, lists in it as further dimensions."""
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    plain = plain_value(value)
    if isinstance(value, list | tuple) or (hasattr(value, "tolist") and isinstance(value.tolist(), list)):
        return str(plain)
    text = as_text(plain)
    if not text or text.upper() == "NULL" or _NEEDS_QUOTES & set(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text

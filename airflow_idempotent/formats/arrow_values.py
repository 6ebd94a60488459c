"""Arrow values one by one: as Python has them, as JSON, and as the text PostgreSQL reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def python_value(value: Any) -> Any:
    """A scalar as Python has it, those inside it too; nothing is rounded."""
    import pyarrow as pa
    from pyarrow import types as is_

    kind = value.type
    if not value.is_valid:
        return None
    if isinstance(kind, pa.BaseExtensionType):
        return value.as_py() if getattr(kind, "extension_name", "") == "arrow.uuid" else python_value(value.value)
    if is_.is_dictionary(kind):
        return python_value(value.dictionary[value.index.as_py()])
    if is_.is_struct(kind):
        return {name: python_value(item) for name, item in value.items()}
    if is_.is_map(kind):
        return {plain_text(python_value(pair["key"])): python_value(pair["value"]) for pair in value.values}
    if is_.is_union(kind):
        raise ValueError(f"holds the Arrow type {kind}, which has no counterpart in JSON")
    if is_.is_nested(kind):
        return [python_value(item) for item in value.values]
    if (is_.is_timestamp(kind) or is_.is_time(kind) or is_.is_duration(kind)) and kind.unit == "ns":
        if value.value % 1000:
            raise ValueError("has nanoseconds, PostgreSQL keeps microseconds: it would lose digits")
        micros = pa.scalar(value.value // 1000, pa.int64())
        value = micros.cast(_in_micros(kind, pa, is_))
    if is_.is_timestamp(kind) and kind.tz:  # without asking a time zone database
        return pa.scalar(value.cast(pa.int64()).as_py(), pa.timestamp(value.type.unit)).as_py().replace(tzinfo=UTC)
    return value.as_py()


def _in_micros(kind: Any, pa: Any, is_: Any) -> Any:
    if is_.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.time64("us") if is_.is_time(kind) else pa.duration("us")


def json_text(value: Any) -> str:
    """A value as JSON: numbers with all their digits, what JSON lacks as the text PostgreSQL has for it.

    Raises:
        ValueError: a float that is no number of JSON.
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json_text(str(name))}:{json_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple) and not hasattr(value, "nanoseconds"):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, int | float | Decimal):
        text = plain_text(value)
        if text in ("NaN", "Infinity", "-Infinity"):
            raise ValueError(f"holds {text} inside a nested value: JSON has no such number")
        return text
    return json.dumps(value if isinstance(value, str) else plain_text(value), ensure_ascii=False)


def plain_text(value: Any) -> str:
    """A value as the text PostgreSQL reads."""
    match value:
        case str():
            if "\0" in value:
                raise ValueError(r"holds the character \u0000, which PostgreSQL cannot store")
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), repr(value))
        case Decimal():
            return f"{value:f}"
        case bytes():
            return "\\x" + value.hex()
        case datetime() | time() | date():
            return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
        case timedelta():
            return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
        case dict() | list():
            return json_text(value)
        case _ if hasattr(value, "nanoseconds"):  # pyarrow.MonthDayNano
            if value.nanoseconds % 1000:
                raise ValueError("has nanoseconds, PostgreSQL keeps microseconds: it would lose digits")
            return f"{value.months} months {value.days} days {value.nanoseconds // 1000} microseconds"
        case _:
            return str(value)

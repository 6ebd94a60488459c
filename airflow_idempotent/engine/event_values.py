"""What the ledger's events say, as plain values: their hash, their part on incremental queries, their checks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from airflow_idempotent.core.verdict import CheckResult
from airflow_idempotent.core.window import Window

NUMBERS = ("read_from_number", "watermark_number")
"""Where a cursor that is a number stands, in the place of ``read_from`` and ``watermark``."""


TIMES = ("partition_start", "partition_end", "cutoff_ts", "read_from", "watermark", "consecutive_since")
"""What the ledger keeps as instants, whatever zone somebody has written them in."""


def event_hash(values: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over everything an event says, including the hash before it; not the clock, nor the duration.

    The same of values that are about to be written, and of those that the ledger gives back.
    """
    said = {name: _plain(name, value) for name, value in values.items() if name not in ("hash", "seconds")}
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def _plain(name: str, value: Any) -> Any:
    if name not in TIMES or value is None:
        return value
    instant = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return instant.astimezone(UTC).isoformat()


def window_values(window: Window | None) -> dict[str, Any]:
    """What an event says of an incremental query; the watermark moves with the rows because it is said here."""
    values: dict[str, Any] = dict.fromkeys(("cursor_name", "read_from", "watermark", *NUMBERS))
    if window is None:
        return values | {"null_cursor_rows": 0, "future_rows": 0}
    read = (int(window.low), int(window.watermark) if window.watermark else None) if window.is_numbered else None
    numbers = dict(zip(NUMBERS, read, strict=True)) if read else {}
    times = {} if read else {"read_from": window.low, "watermark": window.watermark or None}
    counts = {"null_cursor_rows": window.null_rows, "future_rows": window.future_rows}
    return values | {"cursor_name": window.cursor} | times | numbers | counts


def check_values(check: CheckResult) -> dict[str, Any]:
    """What the ledger keeps of a check."""
    return {
        "check": check.check,
        "severity": str(check.severity),
        "verdict": str(check.verdict),
        "observed": check.observed,
        "rows": check.rows,
        "message": check.message,
        "samples": list(check.samples),
        "query": check.query,
        "expected": check.expected,
    }

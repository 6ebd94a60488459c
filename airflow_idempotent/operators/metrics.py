"""Metrics of loads and audits, by Airflow's own StatsD or OpenTelemetry, on Airflow 2 and 3 alike."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from airflow.providers.common.compat.sdk import Stats

from airflow_idempotent.core.step import Receipt

PREFIX = "airflow_idempotent"
"""Airflow puts its own prefix before it: ``airflow.airflow_idempotent.rows.inserted``."""

log = logging.getLogger(__name__)
_stats: Any = Stats


def count(name: str, amount: int = 1, **tags: str) -> None:
    """Add to a counter; nothing is sent for nothing. Tags reach those backends that have them."""
    if amount:
        _send("incr", name, amount, tags)


def gauge(name: str, value: float, **tags: str) -> None:
    """Say how much of something there is now, none included."""
    _send("gauge", name, value, tags)


def count_rows(done: Receipt) -> None:
    """What a load did to rows: ``rows.inserted``, ``rows.updated``, …; how many came late; and that there was one."""
    count("loads", table=done.table)
    for name, amount in done.effects.as_dict().items():
        count(f"rows.{name}", amount, table=done.table)
    count("late_rows", done.measure.late_rows, table=done.table)
    count("too_late_rows", done.measure.too_late_rows, table=done.table)


def _send(how: str, name: str, value: float, tags: Mapping[str, str]) -> None:
    """A metric that cannot be sent is no reason to fail a load that has committed."""
    try:
        getattr(_stats, how)(f"{PREFIX}.{name}", value, tags=dict(tags))
    except Exception as error:  # noqa: BLE001 - each backend has its own
        log.warning("metric %s.%s was not sent: %s", PREFIX, name, error)

"""The context of a task as Airflow gives it, as far as our operators look at it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

RUN_TYPES = {"daily": "scheduled", "scheduled": "scheduled", "backfill": "backfill"}
"""What the ``run`` of a step says of its kind; any other name is that of a manual run."""

STARTED = datetime(2025, 6, 1, tzinfo=UTC)


def context(
    run: str = "r1",
    *,
    task: str = "case",
    attempt: int = 1,
    run_type: str = "",
    logical_date: datetime | None = None,
    interval: tuple[datetime, datetime] | None = None,
    conf: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A context. What a run does not have is absent from it, as on Airflow 3."""
    kind = run_type or RUN_TYPES.get(run, "manual")
    dag_run = SimpleNamespace(run_type=kind, run_id=run, conf=dict(conf or {}), start_date=STARTED)
    ti = SimpleNamespace(dag_id="case", run_id=run, task_id=task, map_index=-1, try_number=attempt)
    events: Any = defaultdict(lambda: SimpleNamespace(extra={}))
    found: dict[str, Any] = {"dag_run": dag_run, "ti": ti, "params": dict(conf or {}), "outlet_events": events}
    if logical_date is not None:
        found |= {"logical_date": logical_date, "ds": f"{logical_date:%Y-%m-%d}"}
    if interval is not None:
        found |= {"data_interval_start": interval[0], "data_interval_end": interval[1]}
    return found

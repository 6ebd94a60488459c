"""``incremental_run``: the scheduled run of a table that is fed by an incremental query, day by day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from airflow_idempotent import AtomicLandOperator, StageMergeOperator
from airflow_idempotent.operators.plan import PlanOperator
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.cases.case import Step
from tests.cases.contexts import context
from tests.cases.words import instant
from tests.cases.world import World

FIRST = date(2024, 5, 1)
DEFAULTS = {"source": "src", "target": "tgt", "cursor": "updated_at"}
ON_NULL = {"fail": "raise", "include": "include", "exclude": "exclude"}
WORDS = {"source", "target", "cursor", "lookback", "on_null", "now"}


def incremental_run(world: World, step: Step) -> Any:
    """The run of the day that holds ``now``, else of the next day; after a failure of the same day again."""
    spec = spec_of(world, step)
    day = instant(step["now"]).date() if "now" in step else world.memory.get("day", FIRST)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    run = context(
        f"scheduled of {day}",
        run_type="scheduled",
        logical_date=start,
        interval=(start, start + timedelta(days=1)),
    )
    world.memory["day"] = day
    [planned] = PlanOperator(task_id="plan", spec=spec).execute(dict(run))
    AtomicLandOperator(task_id="land", spec=spec, planned=planned).execute(dict(run))
    [receipt] = StageMergeOperator(task_id="stage_merge", spec=spec, planned=planned).execute(dict(run))
    world.memory["day"] = day + timedelta(days=1)
    world.memory.setdefault("watermarks", []).append(
        world.value("select cursor_watermark at time zone 'UTC' from airflow_idempotent.watermarks")
    )
    return receipt


def spec_of(world: World, step: Step) -> TableSpec:
    """The table of a step: its key is that of the target."""
    words = {**DEFAULTS, **step}
    source: dict[str, Any] = {"kind": "query", "sql": f"SELECT * FROM {words['source']}", "conn_id": world.conn_id()}
    source |= {"cursor": words["cursor"]}
    if "on_null" in step:
        source["on_cursor_null"] = ON_NULL[step["on_null"]]
    late_data = {"watermark_lag": step["lookback"]} if "lookback" in step else {}
    values = {
        "table": words["target"],
        "conn_id": world.conn_id(),
        "start_date": str(FIRST),
        "source": source,
        "landing": {"root": str(world.lake)},
        "unique_key": ["id"],
        "version": [words["cursor"]],
        "late_data": late_data,
        "retries": 0,
    }
    return load_mapping(values, name=f"{words['target']}.yaml")

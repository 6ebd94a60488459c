"""When the version of a spec may go live: what was ordered, by whom, and at which time of day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import SwapOrder
from airflow_idempotent.operators.params import read_params
from airflow_idempotent.operators.run import run_of
from airflow_idempotent.spec.table import TableSpec

APPROVED = {"chosen_options": ["Approve"]}
"""What stands for the answer yes, as Airflow's approval gives it."""
LEAST_WAIT = timedelta(minutes=1)
USUAL_WAIT = timedelta(hours=12)
"""How long a run without an interval waits for an answer."""


def order_of(spec: TableSpec) -> SwapOrder:
    """The swap that a spec asks for."""
    return spec.publish.order(spec.live, spec.table_version, Timeouts(spec.lock_timeout, spec.statement_timeout))


def asked_by_param(spec: TableSpec, context: Mapping[str, Any]) -> bool:
    """Whether the run was triggered with the param ``cutover``."""
    return read_params(spec, getattr(context.get("dag_run"), "conf", None)).cutover


def is_approved(answer: Any) -> bool:
    """Whether the task that asks somebody got a yes; a lost answer is none."""
    return isinstance(answer, Mapping) and list(answer.get("chosen_options") or ()) == APPROVED["chosen_options"]


def next_due(context: Mapping[str, Any], now: datetime) -> datetime | None:
    """When the next run of the table is due: one interval after this one's end; None for a run without an interval."""
    interval = run_of(context, now).interval
    return interval[1] + (interval[1] - interval[0]) if interval and interval[0] < interval[1] else None


def longest_wait(context: Mapping[str, Any], now: datetime) -> timedelta | None:
    """How long a run may wait for somebody without holding up the next one; None when that is due already.

    Half of what is left of the interval: backfills and runs that catch up never wait.
    """
    run = run_of(context, now)
    if run.run_type == "backfill":
        return None
    due = next_due(context, now)
    if due is None or run.run_type != "scheduled":
        return USUAL_WAIT
    return max((due - now) / 2, LEAST_WAIT) if due > now else None

"""Sources that are code, for one partition: a function with its arguments, a query with its binds and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from airflow_idempotent.core.manifest import PinnedQuery
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.window import Position, Window, position_of
from airflow_idempotent.landing.callables import call
from airflow_idempotent.landing.inputs import PythonInput, QueryInput, Reading, TransformInput
from airflow_idempotent.spec.fingerprint import query_fingerprint
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.source import Query
from airflow_idempotent.spec.transform import Transform


def python_input(
    spec: LoadSpec, source: Python, partition: Partition, *, cutoff_ts: datetime, params: Mapping[str, Any]
) -> PythonInput:
    """What the function will be called with; it is looked up when it is called."""
    offered = {
        "partition": partition,
        "start": partition.start,
        "end": partition.end,
        "cutoff_ts": cutoff_ts,
        "key": partition.key,
        "params": params,
    }
    calling = partial(call, source.callable, offered, source.kwargs, table=spec.table, partition=partition.key)
    as_json = frozenset(column.name for column in spec.columns if column.data_type.strip().lower() in ("json", "jsonb"))
    return PythonInput(source.callable, calling, spec.column_names, as_json)


def pinned(source: Transform, partition: Partition, *, cutoff_ts: datetime, run_id: str) -> TransformInput:
    """The query with the values of the binds that it uses: what it uses not cannot change its rows."""
    values = {
        "start": partition.start.isoformat(),
        "end": partition.end.isoformat(),
        "cutoff_ts": cutoff_ts.astimezone(UTC).isoformat(),
        "key": partition.key,
        "run_id": run_id,
    }
    binds = {name: values[name] for name in source.binds}
    return TransformInput(PinnedQuery(source.sql, source.columns, query_fingerprint(source.sql), binds))


def bounds_of(partition: Partition, window: Window | None) -> tuple[Position, Position | None]:
    """From where to where a batch was read, to read the same again; its partition where nothing says otherwise."""
    low = position_of(window.low) if window else None
    if window is None or low is None:
        return partition.start, None
    return low, position_of(window.high) if window.is_numbered else None


def query_input(
    spec: LoadSpec,
    source: Query,
    partition: Partition,
    sql: str,
    cutoff_ts: datetime,
    low: Position,
    connect: Callable[[], Any],
    known_until: str = "",
    high: Position | None = None,
) -> QueryInput:
    """The query, rendered, with its binds; with a cursor the bounds of the partition, or from ``low`` on.

    By a number no partition can be told: that is done by the column which says what partition a row is of.
    """
    binds = {"start": partition.start, "end": partition.end, "cutoff_ts": cutoff_ts, "key": partition.key}
    if not source.cursor:
        return QueryInput(sql, binds, connect)
    if source.initial_value is not None and not isinstance(low, int):
        return QueryInput(sql, binds | {"watermark": source.initial_value}, connect, within=spec.partition_column)
    late = getattr(spec, "late_data", None)
    reading = Reading(
        cursor=source.cursor,
        low=low,
        high=high if isinstance(low, int) else partition.end,
        now=datetime.now(UTC),
        on_null=source.on_cursor_null,
        on_future=source.on_cursor_future,
        has_lag=late is not None and late.watermark_lag is not None,
        known_until=known_until,
    )
    return QueryInput(sql, binds, connect, reading=reading)

"""SQL that is built once for all partitions says for each what would be built for it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_idempotent.core.actions import InspectBatch, MeasurePartition, ReplaceRows, UpsertRows
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.partition import Grain, Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.measure import inspect_batch, measure_partition
from airflow_idempotent.sql.merge import upsert_rows
from airflow_idempotent.sql.replace import replace_rows

ORDERS = Relation("public", "orders")
COLUMNS = ("id", "d")
DAYS = [Grain.DAY.parse(f"2025-05-0{day}") for day in (1, 2, 3)]


def shape(kind: str) -> TableShape:
    return TableShape(ORDERS, (Column("id", "bigint"), Column("d", kind)), (frozenset(["id"]),))


@pytest.mark.parametrize(
    ("build", "action"),
    [
        (inspect_batch, lambda day: InspectBatch(ORDERS, "s", COLUMNS, ("id",), event_time="d", partition=day)),
        (inspect_batch, lambda day: InspectBatch(ORDERS, "s", COLUMNS, ("id",), event_time="d")),
        (measure_partition, lambda day: MeasurePartition(ORDERS, "d", day)),
        (measure_partition, lambda day: MeasurePartition(ORDERS, None, day)),
        (upsert_rows, lambda day: UpsertRows(ORDERS, "s", COLUMNS, ("id",), within=("d", day))),
        (replace_rows, lambda day: ReplaceRows(ORDERS, "s", COLUMNS, within=("d", day))),
        (replace_rows, lambda day: ReplaceRows(ORDERS, "s", COLUMNS, partition=day, batch_id=f"{day.compact}_01")),
    ],
)
@pytest.mark.parametrize("kind", ["date", "timestamp with time zone"])
def test_each_partition_gets_what_would_be_built_for_it_alone(
    build: Any, action: Callable[[Partition], Any], kind: str
) -> None:
    target = shape(kind)

    for day in (*DAYS, *DAYS):
        assert build(action(day), target) == build.__wrapped__(action(day), target)

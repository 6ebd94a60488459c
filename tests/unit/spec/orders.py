"""A table spec to change one thing of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from airflow_idempotent.errors import SpecError
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec, inherit

LEFT_OUT = object()
"""As the value of an option: the option is not given."""

ORDERS: Mapping[str, Any] = {
    "table": "analytics.orders",
    "source": {"kind": "files", "path": "/inbox/{{ partition.key }}/*.csv"},
    "start_date": "2025-01-01",
    "unique_key": ["order_id"],
}
COLUMNS = [
    {"name": "order_id", "data_type": "bigint"},
    {"name": "order_date", "data_type": "date"},
    {"name": "amount", "data_type": "numeric(12,2)"},
    {"name": "updated_at", "data_type": "timestamptz"},
]


def options(**changes: Any) -> dict[str, Any]:
    """The options of ``ORDERS`` with some of them changed; mappings are changed option by option."""
    return {name: value for name, value in inherit(ORDERS, changes).items() if value is not LEFT_OUT}


def orders(**changes: Any) -> TableSpec:
    """The spec of ``ORDERS`` with some of its options changed."""
    return TableSpec(**options(**changes))


def problems_with(**changes: Any) -> list[tuple[str, str]]:
    """What is said about ``ORDERS`` with these changes, as (path, text)."""
    with pytest.raises(SpecError) as refused:
        load_mapping(options(**changes), name="orders.yaml")
    return list(refused.value.problems)

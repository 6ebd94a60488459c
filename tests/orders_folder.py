"""A folder as a user of the command line has one: a spec, its defaults, and two days of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SPEC = """\
table: analytics.orders
description: One row per order.
start_date: 2025-05-01
source:
  kind: files
  path: "inbox/orders/{{ partition.key }}/*.csv"
columns:
  - {name: order_id, data_type: bigint}
  - {name: status, data_type: text}
  - {name: amount, data_type: "numeric(12,2)"}
  - {name: order_date, data_type: date}
  - {name: updated_at, data_type: timestamptz}
unique_key: [order_id]
version: [updated_at]
partition_by: {column: order_date}
checks:
  - row_count: {min: 1}
  - not_null: [status]
  - not_null: {columns: [amount], severity: warn}
"""
DEFAULTS = """\
conn_id: warehouse
owner: data-eng
late_data: {lookback: 2}
landing: {root: lake, keep_batches: 5}
"""
FIRST = """\
order_id,status,amount,order_date,updated_at
1,new,10.50,2025-05-01,2025-05-01T08:00:00Z
2,new,20.00,2025-05-01,2025-05-01T09:00:00Z
2,paid,20.00,2025-05-01,2025-05-01T10:00:00Z
3,new,,2025-05-01,2025-05-01T11:00:00Z
"""
NULL_KEY = """\
order_id,status,amount,order_date,updated_at
4,new,5.00,2025-05-02,2025-05-02T08:00:00Z
,new,5.00,2025-05-02,2025-05-02T08:00:00Z
"""


def make_folder(folder: Path) -> Path:
    """Write it; the spec lies in ``tables/orders.yaml``."""
    (folder / "tables").mkdir()
    (folder / "tables/orders.yaml").write_text(SPEC)
    (folder / "tables/defaults.yml").write_text(DEFAULTS)
    deliver(folder, "2025-05-01", FIRST)
    deliver(folder, "2025-05-02", NULL_KEY)
    return folder


def deliver(folder: Path, day: str, text: str) -> None:
    """Put a day's file where the spec looks for it."""
    (folder / f"inbox/orders/{day}").mkdir(parents=True, exist_ok=True)
    (folder / f"inbox/orders/{day}/orders.csv").write_text(text)


def edit(folder: Path, old: str, new: str) -> None:
    """Change the spec."""
    path = folder / "tables/orders.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def batches(folder: Path) -> list[Any]:
    """The batches that have landed, by their folders."""
    return sorted(str(path.parent.relative_to(folder / "lake")) for path in folder.rglob("_manifest.json"))

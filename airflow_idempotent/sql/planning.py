"""What the planner is told where it would choose worse, by measurement (docs/adr/0002, docs/benchmarks.md)."""

from __future__ import annotations

from airflow_idempotent.sql.statement import setting

JOINS = ("enable_hashjoin", "enable_mergejoin", "enable_material")
"""Ways by which it would read the whole target instead of the rows that are asked for."""

ROW_BY_ROW = tuple(setting(name, "off") for name in JOINS)
"""In key order by index probes, or by place: so writers in key order cannot deadlock either."""

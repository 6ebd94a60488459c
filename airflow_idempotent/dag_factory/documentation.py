"""What the Airflow UI says of a table's DAG."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS

from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.source import Files
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform

BACKFILL = (
    "airflow backfill create --dag-id {id} --from-date … --to-date …"
    if AIRFLOW_V_3_0_PLUS
    else "airflow dags backfill {id} --start-date … --end-date …"
)
_HOW_TO = """
**Load a range**: trigger it with `from_date` and `to_date` (not included), or `{backfill}`.
**Load one partition again**: clear its `partition` tasks. Running anything again is safe.
"""


def documentation(spec: TableSpec, file: str = "") -> str:
    """The spec as Markdown: what is loaded, from where, by which rule."""
    source = spec.source
    facts = {
        "Table": f"`{spec.table}` by connection `{spec.conn_id}`",
        "Source": _source(source),
        "Strategy": spec.strategy.kind,
        "Unique key": _names(spec.unique_key),
        "Version": _names(spec.version),
        "Partition": f"{spec.grain} ({spec.timezone})"
        + (f" of `{spec.partition_column}`" if spec.partition_column else ""),
        "Range": f"from {spec.begin.isoformat()}" + (f" to {spec.end.isoformat()}, not included" if spec.end else ""),
        "Checks": ", ".join(f"`{check.label}`" for check in spec.checks),
        "Spec": f"`{file}`" if file else "",
    }
    rows = "\n".join(f"| {name} | {_cell(text)} |" for name, text in facts.items() if text)
    how_to = _HOW_TO.format(backfill=BACKFILL.format(id=spec.id))
    return f"{spec.description}\n\n| | |\n|---|---|\n{rows}\n{how_to}".lstrip()


def _source(source: Any) -> str:
    match source:
        case Files():
            return f"`{source.path}`"
        case Python():
            return f"the rows that `{source.callable}` yields"
        case Transform():
            tables = ", ".join(f"`{table}`" for table in source.tables)
            return f"a query inside the warehouse, of {tables or 'no table'}"
        case _:
            return f"a query by connection `{source.conn_id}`"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

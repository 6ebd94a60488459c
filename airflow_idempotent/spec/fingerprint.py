"""What a spec means, as one hash: equal for equal meaning, different when the rows may differ."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import sqlglot
from pydantic import BaseModel
from sqlglot.errors import SqlglotError

from airflow_idempotent.core.data_types import catalogue_spelling
from airflow_idempotent.spec.load import LoadSpec

# How and when a table is run, shown and waited for; a change of these makes no partition stale.
NOT_MEANING = {
    "conn_id",
    "description",
    "schedule",
    "start_date",
    "end_date",
    "catchup",
    "dag_id",
    "owner",
    "tags",
    "pool",
    "retries",
    "retry_delay",
    "max_active_runs",
    "late_data",
    "publish",
    "backfill",
    "audit",
    "landing",
    "lock_timeout",
    "statement_timeout",
    "fillfactor",
}


def fingerprint(spec: LoadSpec) -> str:
    """SHA-256 (hex) of the spec's meaning.

    Stable over the order of options, comments, white space, the spelling of types and of SQL. Defaults, written
    out or not, are no part of it, so that an option which a later release adds makes no table stale.
    """
    meaning = _said(spec, spec.model_dump(mode="json", exclude=NOT_MEANING))
    meaning["grain"] = str(spec.grain)
    by = {name: value for name, value in meaning.pop("partition_by", {}).items() if name != "grain"}
    meaning |= {"partition_by": by} if by else {}
    meaning["columns"] = [
        [column.name, _normal_type(catalogue_spelling(column.data_type)), sorted(column.constraints)]
        for column in spec.columns
    ]
    source: dict[str, Any] = meaning.get("source") or {}
    if source.get("sql"):
        source["sql"] = normal_sql(source["sql"])
    source.pop("inputs", None)  # lineage: no row depends on it
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def _said(value: Any, dumped: Any) -> Any:
    """What was dumped of a value, without the options that have their defaults; ``kind`` always stays."""
    if isinstance(value, BaseModel):
        models = type(value).model_fields.items()
        defaults = {name: field.get_default(call_default_factory=True) for name, field in models}
    elif is_dataclass(value) and "kind" in dumped:
        defaults = {item.name: item.default for item in fields(value)}
    elif isinstance(value, tuple):
        return [_said(item, plain) for item, plain in zip(value, dumped, strict=True)]
    else:
        return dumped
    kept = (name for name in dumped if name == "kind" or getattr(value, name, MISSING) != defaults.get(name, MISSING))
    return {name: _said(getattr(value, name), dumped[name]) for name in kept}


def query_fingerprint(sql: str) -> str:
    """SHA-256 (hex) of a query's meaning, whatever its layout, comments and spelling of keywords."""
    return hashlib.sha256(normal_sql(sql).encode()).hexdigest()


def normal_sql(sql: str) -> str:
    """The query without comments and layout; text that cannot be parsed (templates) only without indentation."""
    try:
        return ";".join(
            tree.sql("postgres", comments=False, normalize=True)
            for tree in sqlglot.parse(sql, dialect="postgres")
            if tree
        )
    except SqlglotError:
        return "\n".join(line.strip() for line in sql.splitlines() if line.strip())


def _normal_type(data_type: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\s*([(),])\s*", r"\1", data_type.strip().lower()))

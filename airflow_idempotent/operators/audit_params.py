"""The params of an audit: described for the trigger form, and read back with clear errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow.providers.common.compat.sdk import Param

from airflow_idempotent.core.audit import Sample
from airflow_idempotent.errors import ParamsError
from airflow_idempotent.operators.params import read_flag, read_instant, run_params
from airflow_idempotent.spec.audit import Audit
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.words import meant

NAMES = ("from_date", "to_date", "sample", "requery")


@dataclass(frozen=True, slots=True)
class AuditParams:
    """What an audit was asked for; the defaults are those of the spec."""

    sample: Sample
    requery: bool
    from_date: datetime | None = None
    to_date: datetime | None = None


def audit_params(spec: TableSpec) -> dict[str, Param]:
    """The params of an audit's DAG."""
    usual = spec.audit or Audit()
    ranged = run_params(spec)
    return {
        "from_date": ranged["from_date"],
        "to_date": ranged["to_date"],
        "sample": Param(
            str(usual.sample),
            type=["string", "integer"],
            title="Sample",
            description_md="Published partitions, longest waiting first: a share like `10%`, a number, or `all`.",
        ),
        "requery": Param(
            usual.requery,
            type="boolean",
            title="Run queries again",
            description_md="Run queries and functions of the source again to compare; files always are compared.",
        ),
    }


def read_audit_params(spec: TableSpec, conf: Mapping[str, Any] | None) -> AuditParams:
    """What an audit was triggered with.

    Raises:
        ParamsError: everything that is wrong with it.
    """
    given, usual = conf or {}, spec.audit or Audit()
    problems = [(name, f"unknown param{meant(name, NAMES)}") for name in given if name not in NAMES]
    values: dict[str, Any] = {"sample": Sample.parse(usual.sample), "requery": usual.requery}
    read: dict[str, Callable[[Any], Any]] = {
        "sample": Sample.parse,
        "requery": read_flag,
        "from_date": lambda value: read_instant(value, spec.timezone),
        "to_date": lambda value: read_instant(value, spec.timezone),
    }
    for name in NAMES:
        if (value := given.get(name)) in (None, ""):
            continue
        try:
            values[name] = read[name](value)
        except (ValueError, TypeError) as error:
            problems.append((name, str(error) if name == "sample" else f"{value!r} {error}"))
    if problems:
        raise ParamsError(table=spec.table, problems=tuple(problems))
    return AuditParams(**values)

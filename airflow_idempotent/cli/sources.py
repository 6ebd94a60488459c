"""What to land for a partition outside Airflow: templates rendered, files found, a query with its binds."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.window import Window
from airflow_idempotent.errors import UsageError
from airflow_idempotent.landing.code import bounds_of, pinned, python_input, query_input
from airflow_idempotent.landing.inputs import Input, find_files
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.source import Files
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform

RUN_ID = "cli"
"""What ``:run_id`` is outside Airflow."""

ROOT_VARIABLE = "AIRFLOW__IDEMPOTENT__LANDING_ROOT"


def source_of(
    spec: TableSpec,
    partition: Partition,
    *,
    cutoff_ts: datetime,
    params: Mapping[str, str],
    connect: Callable[[], Any],
    window: Window | None = None,
) -> Input:
    """What the partition is made of, as it is now. ``connect`` opens the database of a query.

    With the ``window`` of a batch an incremental query is asked for just those rows.

    Raises:
        UsageError: a template needs a name that only Airflow knows.
    """
    source = spec.source
    names = {"partition": partition, "params": params}
    if isinstance(source, Files):
        pattern = rendered(source.path, names, option="source.path")
        columns = source.file_columns(spec.column_names)
        return find_files(pattern, open_path=open_path, format=source.value(), columns=columns)
    if isinstance(source, Python):
        return python_input(spec, source, partition, cutoff_ts=cutoff_ts, params=params)
    if isinstance(source, Transform):
        return pinned(source, partition, cutoff_ts=cutoff_ts, run_id=RUN_ID)
    sql = rendered(source.sql, names, option="source.sql")
    low, high = bounds_of(partition, window)
    return query_input(spec, source, partition, sql, cutoff_ts, low, connect, high=high)


def rendered(text: str, names: Mapping[str, Any], *, option: str) -> str:
    """A template with its names filled in. It runs in a sandbox: it can read them, and nothing else.

    Raises:
        UsageError: it is no template, or needs what is not there.
    """
    if "{{" not in text and "{%" not in text:
        return text
    from jinja2 import TemplateError

    try:
        template, used = _compiled(text)
        if missing := sorted(used - names.keys()):
            hint = "Write {{ partition.key }}, {{ partition.start }} or {{ params.… }}, or load it by Airflow."
            needs = ", ".join(map(repr, missing))
            raise UsageError(command="run", reason=f"{option} needs {needs}, which only Airflow knows", hint=hint)
        return str(template.render(names))
    except TemplateError as error:
        hint = "Pass it as --param NAME=VALUE." if "params" in text else "Correct the template in the spec."
        raise UsageError(command="run", reason=f"{option} {text!r}: {error}", hint=hint) from None


@lru_cache(maxsize=64)
def _compiled(text: str) -> tuple[Any, frozenset[str]]:
    """A template, and the names that it uses; all partitions of a run share it."""
    from jinja2 import StrictUndefined, meta
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined)
    return environment.from_string(text), frozenset(meta.find_undeclared_variables(environment.parse(text)))


def landing_root(spec: TableSpec, given: str | None) -> Any:
    """The path below which batches are landed.

    Raises:
        UsageError: nothing names it.
    """
    root = given or spec.landing.root or os.environ.get(ROOT_VARIABLE, "") or _airflow_root()
    if not root:
        hint = f"Pass --root DIR, or set landing.root in the spec or {ROOT_VARIABLE} in the environment."
        raise UsageError(command="run", reason="there is no folder to land batches in", hint=hint)
    return open_path(root)


def _airflow_root() -> str:
    """Where Airflow lands when it is told nothing else, so that both find the same batches."""
    home = os.environ.get("AIRFLOW_HOME", "")
    return f"{home}/idempotent" if home else ""


def open_path(address: str) -> Any:
    """A path on this machine, or in an object store when the address is a URL."""
    if "://" not in address:
        return pathlib.Path(address)
    from upath import UPath

    return UPath(address)

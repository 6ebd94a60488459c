"""Specs that cannot be used, made visible: an import error of the spec's own file.

Airflow knows one import error per Python file, and an error of the file takes all its DAGs away.
But while it imports a file it holds the list of errors found, and that list is keyed by file name:
an entry for the spec's file shows in the UI like any other, and leaves the DAGs of the Python file
alone. That list is reached through the call stack, since Airflow hands it to nobody; where it is
not found, a DAG that says what is wrong stands in. See docs/adr/0003-broken-specs.md.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from types import FrameType
from typing import Any

from airflow.providers.common.compat.sdk import DAG, AirflowFailException, BaseOperator, Context

from airflow_idempotent.errors import IdempotentError

log = logging.getLogger(__name__)
IMPORTING = "_load_modules_from_file"
"""The function of Airflow 2 and 3 in which a DAG file is being imported."""


def show_broken(broken: Mapping[Path, IdempotentError], namespace: MutableMapping[str, Any]) -> None:
    """Show each error where people look: among the import errors, else as a DAG of its own; always in the log."""
    for path, error in broken.items():
        log.error("%s", error)
        if not add_import_error(path, str(error)):
            dag = stand_in(path, str(error))
            namespace[f"idempotent_dag_{dag.dag_id}"] = dag


def add_import_error(file: Path, text: str) -> bool:
    """Add to the import errors of the import that is going on; False when there is none that we know."""
    for values in _importing():
        if isinstance(errors := getattr(values.get("self"), "import_errors", None), dict):  # Airflow 2: a DagBag
            errors[str(file)] = text
            return True
        if isinstance(errors := getattr(values.get("result"), "errors", None), list):  # Airflow 3: a DagImportResult
            errors.append(_import_error(values, file, text))
            return True
    return False


def _importing() -> Iterator[Mapping[str, Any]]:
    """The variables of Airflow's import functions on the stack, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == IMPORTING:
            yield frame.f_locals
        frame = frame.f_back


def _import_error(values: Mapping[str, Any], file: Path, text: str) -> Any:
    """An entry keyed like Airflow's own: by the path below the bundle."""
    from airflow.dag_processing.importers import DagImportError

    bundle = str(values["filepath"]).removesuffix(str(values["result"].file_path))
    name = os.path.relpath(file, bundle) if bundle and file.is_relative_to(bundle) else str(file)
    return DagImportError(file_path=name, message=text, error_type="spec")


class BrokenSpec(BaseOperator):
    """Fails with what is wrong with a spec."""

    def __init__(self, *, text: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text

    def execute(self, context: Context) -> None:
        """Say it again."""
        raise AirflowFailException(self.text)


def stand_in(file: Path, text: str) -> DAG:
    """A DAG that never runs by itself, and whose documentation is the error."""
    name = "".join(char if char.isalnum() or char in "-_." else "_" for char in file.name)
    with DAG(
        dag_id=f"broken_spec.{name}",
        description=text.splitlines()[0],
        doc_md=f"**This spec cannot be used.**\n\n```\n{text}\n```",
        schedule=None,
        catchup=False,
        tags=["broken spec"],
        auto_register=False,
    ) as dag:
        BrokenSpec(task_id="broken_spec", text=text, doc_md=text)
    return dag

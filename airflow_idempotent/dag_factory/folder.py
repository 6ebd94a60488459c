"""A folder of specs, and the DAGs of it in the namespace of a DAG file."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from airflow.providers.common.compat.sdk import DAG, get_parsing_context

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.dag_factory.audit import build_audit_dag
from airflow_idempotent.dag_factory.broken import show_broken
from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.errors import IdempotentError, SpecError
from airflow_idempotent.spec.loader import load_file, load_folder, spec_files
from airflow_idempotent.spec.table import AUDIT_SUFFIX, TableSpec, default_dag_id

_CLAIM = re.compile(r"^(table|dag_id):[ \t]*(.*?)[ \t]*(?:\s#.*)?$", re.MULTILINE)


def load_tables(folder: str | Path, namespace: MutableMapping[str, Any]) -> None:
    """Put a DAG for every spec below ``folder`` into ``namespace``, which is the ``globals()`` of a DAG file.

    A relative folder lies beside that file. A spec that cannot be used is an import error of its
    own file; all other DAGs stay. A worker, which wants one DAG, gets only that one built.

    Raises:
        SpecError: there is no such folder.
    """
    place = Path(namespace.get("__file__", ".")).parent / folder
    if not place.is_dir():
        raise SpecError(file=str(place), problems=(("", "no such folder"),))
    wanted = get_parsing_context().dag_id
    specs, broken = _the_one(place, wanted) if wanted else load_folder(place)
    for path, spec in specs.items():
        if f"idempotent_dag_{spec.id}" in namespace:
            broken[path] = SpecError(file=str(path), problems=(("dag_id", f"{spec.id!r} is taken by another folder"),))
            continue
        try:
            namespace.update({f"idempotent_dag_{dag.dag_id}": dag for dag in _dags_of(spec, wanted, path, place)})
        except SpecError as error:
            broken[path] = replace(error, file=str(path))
        except Exception as error:  # noqa: BLE001 - whatever Airflow refuses, the other DAGs stay
            broken[path] = SpecError(file=str(path), problems=(("", f"{type(error).__name__}: {error}"),))
    show_broken(broken, namespace)


def _dags_of(spec: TableSpec, wanted: str | None, path: Path, place: Path) -> list[DAG]:
    """The DAG that loads the table and the one that audits it, or whichever of them is wanted."""
    file = str(path.relative_to(place.parent))
    builders = {spec.id: build_dag, spec.audit_id: build_audit_dag}
    built = [build(spec, file=file) for dag_id, build in builders.items() if dag_id and wanted in (None, dag_id)]
    return [dag for dag in built if dag is not None]


def _the_one(folder: Path, dag_id: str) -> tuple[dict[Path, TableSpec], dict[Path, IdempotentError]]:
    """The spec of one DAG, without parsing the others; nothing when the DAG is none of this folder."""
    loads = dag_id.removesuffix(AUDIT_SUFFIX)
    likely = [path for path in spec_files(folder) if _claimed(path) in (dag_id, loads)]
    if len(likely) == 1:
        try:
            spec = load_file(likely[0])
        except SpecError as error:
            return {}, {likely[0]: error}
        if dag_id in (spec.id, spec.audit_id):
            return {likely[0]: spec}, {}
    specs, broken = load_folder(folder)
    found = {path: spec for path, spec in specs.items() if dag_id in (spec.id, spec.audit_id)}
    return found, {path: error for path, error in broken.items() if path in likely or not (found or likely)}


def _claimed(path: Path) -> str:
    """The dag_id that a spec seems to have, from two lines of its text; empty when they are not as usual."""
    try:
        lines = dict(_CLAIM.findall(path.read_text(encoding="utf-8")))
        found = {name: str(yaml.safe_load(text)) if text[:1] in "\"'" else text for name, text in lines.items() if text}
        return found.get("dag_id") or default_dag_id(str(Relation.parse(found.get("table", ""))))
    except (OSError, ValueError, yaml.YAMLError):
        return ""

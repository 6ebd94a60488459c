"""Runs operators and DAGs inside a test, on Airflow 2 and 3."""

from __future__ import annotations

import json
import logging
import os
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS

DAY = datetime(2025, 5, 1, tzinfo=UTC)
PARSING_FOR = "_AIRFLOW_PARSING_CONTEXT_DAG_ID"
"""How Airflow 2 and 3 tell a parsed file which DAG is wanted."""


def context(
    logical_date: datetime | None = DAY,
    *,
    run_type: str = "scheduled",
    hours: float = 24,
    try_number: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """The context of a task, as far as our operators look at it.

    Without a logical date the keys that follow from it are missing, as on Airflow 3.
    """
    run = SimpleNamespace(run_type=run_type, conf={}, start_date=DAY + timedelta(days=30))
    task = SimpleNamespace(dag_id="orders", run_id="r1", task_id="t", map_index=-1, try_number=try_number)
    events: Any = defaultdict(lambda: SimpleNamespace(extra={}))
    found: dict[str, Any] = {"dag_run": run, "ti": task, "outlet_events": events, "params": {}}
    if logical_date is not None:
        start = logical_date if run_type == "scheduled" else logical_date - timedelta(hours=hours)
        found |= {"logical_date": logical_date, "ds": f"{logical_date:%Y-%m-%d}"}
        found |= {"data_interval_start": start, "data_interval_end": start + timedelta(hours=hours)}
    return found | more


@dataclass(frozen=True)
class Ran:
    """How a run ended: its state, the states and labels of its tasks (``partition.land[0]`` for mapped ones)."""

    state: str
    tasks: dict[str, str]
    labels: set[str | None]


def run(dag: Any, logical_date: datetime | None, **conf: Any) -> Ran:
    """Run the DAG once by ``dag.test()``, as ``airflow dags test`` does."""
    sync(dag)
    if AIRFLOW_V_3_0_PLUS:
        done = dag.test(logical_date=logical_date, run_conf=conf)
    else:
        done = dag.test(execution_date=logical_date, run_conf=conf)
    tasks = done.get_task_instances()
    names = [task.task_id + (f"[{task.map_index}]" if task.map_index >= 0 else "") for task in tasks]
    states = dict(zip(names, (str(task.state) for task in tasks), strict=True))
    return Ran(str(done.state), states, {task.rendered_map_index for task in tasks})


def sync(dag: Any) -> None:
    """Tell the metadata database of the DAG."""
    if not AIRFLOW_V_3_0_PLUS:
        dag.bulk_write_to_db([dag])
        return
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.serialization.definitions.dag import SerializedDAG
    from airflow.serialization.serialized_objects import LazyDeserializedDAG
    from airflow.utils.session import create_session

    with create_session() as session:
        session.merge(DagBundleModel(name="testing"))
        session.flush()
        SerializedDAG.bulk_write_to_db("testing", None, [dag], session=session)
        session.flush()
        SerializedDagModel.write_dag(LazyDeserializedDAG.from_dag(dag), bundle_name="testing", session=session)


def asset_events(uri: str) -> list[dict[str, Any]]:
    """What the events of an asset say, oldest first."""
    from airflow.utils.session import create_session

    if AIRFLOW_V_3_0_PLUS:
        from airflow.models.asset import AssetEvent as Event
        from airflow.models.asset import AssetModel as Model
    else:
        from airflow.models.dataset import DatasetEvent as Event
        from airflow.models.dataset import DatasetModel as Model
    asset_id = Event.asset_id if AIRFLOW_V_3_0_PLUS else Event.dataset_id
    with create_session() as session:
        found = session.query(Event).join(Model, Model.id == asset_id).filter(Model.uri == uri).order_by(Event.id)
        return [event.extra for event in found]


def attach_memory() -> None:
    """Let ``memory://`` be an object store; Airflow itself knows only those that its providers bring."""
    from fsspec.implementations.memory import MemoryFileSystem

    attach = import_module("airflow.sdk.io" if AIRFLOW_V_3_0_PLUS else "airflow.io.store").attach
    attach("memory", fs=MemoryFileSystem())


def parsed(folder: Path, dag_id: str | None = None) -> Any:
    """The DagBag of a folder; with a ``dag_id`` as a worker parses it that is to run a task of that DAG."""
    if dag_id:
        os.environ[PARSING_FOR] = dag_id
    try:
        if not AIRFLOW_V_3_0_PLUS:
            from airflow.models.dagbag import DagBag

            return DagBag(str(folder), include_examples=False)
        from airflow.dag_processing.dagbag import DagBag as DagBag3

        return DagBag3(str(folder), bundle_path=folder)
    finally:
        os.environ.pop(PARSING_FOR, None)


def serialized(dag: Any) -> tuple[str, Any]:
    """The DAG as the scheduler gets it: as JSON, and read back."""
    if AIRFLOW_V_3_0_PLUS:
        from airflow.serialization.serialized_objects import DagSerialization

        data = DagSerialization.to_dict(dag)
        return json.dumps(data), DagSerialization.from_dict(json.loads(json.dumps(data)))
    from airflow.serialization.serialized_objects import SerializedDAG

    data = SerializedDAG.to_dict(dag)
    return json.dumps(data), SerializedDAG.from_dict(json.loads(json.dumps(data)))


def process(file: Path) -> None:
    """Parse a DAG file as the DAG processor does, and write what it finds to the metadata database."""
    if not AIRFLOW_V_3_0_PLUS:
        from airflow.dag_processing.processor import DagFileProcessor

        processor = DagFileProcessor(dag_ids=[], dag_directory=str(file.parent), log=logging.getLogger(__name__))
        processor.process_file(str(file), callback_requests=[])
        return
    import structlog
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.dag_processing.processor import DagFileParseRequest, _parse_file
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.session import create_session

    request = DagFileParseRequest(file=str(file), bundle_path=file.parent, bundle_name="testing", callback_requests=[])
    result = _parse_file(request, structlog.get_logger())
    errors = {("testing", path): text for path, text in (result.import_errors or {}).items()}
    files = {("testing", file.name), *errors}
    with create_session() as session:
        session.merge(DagBundleModel(name="testing"))
        session.flush()
        update_dag_parsing_results_in_db(
            "testing", None, result.serialized_dags, errors, 0.1, set(), session, files_parsed=files
        )


def effects(warehouse: Any) -> list[Any]:
    """What each load did, partition by partition: mapped tasks of one run may end in any order."""
    warehouse.execute(
        "select partition_key, inserted, updated, unchanged from airflow_idempotent.events "
        "where step = 'stage_merge' order by partition_key, event_id"
    )
    return list(warehouse.fetchall())

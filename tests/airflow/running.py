"""Runs a DAG that was built inside a test, on Airflow 2 and 3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS


def run(dag: Any, logical_date: datetime | None, **conf: Any) -> Any:
    """Run the DAG once by ``dag.test()``, as ``airflow dags test`` does; the DagRun."""
    sync(dag)
    if AIRFLOW_V_3_0_PLUS:
        return dag.test(logical_date=logical_date, run_conf=conf)
    return dag.test(execution_date=logical_date, run_conf=conf)


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


def states(run: Any) -> dict[str, str]:
    """The state of each task of a run: ``partition.land[0]`` for mapped ones."""
    return {
        task.task_id + (f"[{task.map_index}]" if task.map_index >= 0 else ""): str(task.state)
        for task in run.get_task_instances()
    }

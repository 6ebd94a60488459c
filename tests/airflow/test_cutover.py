"""When a version goes live: at its time of day, and after somebody said yes, where that is asked for."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException, TaskDeferred

from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.operators.cutover import is_approved, longest_wait
from airflow_idempotent.operators.swap import SwapTableOperator
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.airflow.conftest import AIRFLOW_2
from tests.airflow.running import DAY, context, run

RANGE = {"from_date": "2025-05-01", "to_date": "2025-05-02", "target": "shadow"}


@pytest.fixture
def built(words: dict[str, Any], warehouse: Any, metadata: Any) -> dict[str, Any]:
    """Give the words of version 2, which holds what the live table holds."""
    run(build_dag(load_mapping(words | {"publish": "swap"}, name="o.yaml")), DAY)
    quiet = words | {"table_version": 2, "publish": {"mode": "swap", "clean_intervals": 99}}
    done = run(build_dag(load_mapping(quiet | {"dag_id": "builder"}, name="o.yaml")), DAY + timedelta(days=7), **RANGE)
    assert done.tasks["partition.validate[0]"] == "success", done
    return words | {"table_version": 2}


def live(warehouse: Any) -> int:
    warehouse.execute("select table_version from airflow_idempotent.table_versions where state = 'SWAPPED'")
    found = warehouse.fetchall()
    return int(found[0][0]) if found else 1


def closed(hours: float, **publish: Any) -> dict[str, Any]:
    """A window of an hour that opens in so many hours."""
    opens = datetime.now(UTC) + timedelta(hours=hours)
    return {"mode": "swap", "window": f"{opens:%H:%M}-{opens + timedelta(hours=1):%H:%M}", **publish}


def interval(hours: float) -> dict[str, Any]:
    """The context of a scheduled run whose interval has just ended."""
    end = datetime.now(UTC) - timedelta(minutes=1)
    return context(end - timedelta(hours=hours), hours=hours)


def spec_of(words: dict[str, Any], **publish: Any) -> TableSpec:
    return load_mapping(words | {"publish": publish}, name="o.yaml")


# --- the time of day -------------------------------------------------------------------------------


def test_outside_its_window_the_task_waits_and_then_swaps(built: dict[str, Any], warehouse: Any) -> None:
    swaps = SwapTableOperator(task_id="swap", spec=spec_of(built, **closed(2)))

    with pytest.raises(TaskDeferred) as waiting:
        swaps.execute(interval(24))

    wait = waiting.value.trigger.moment - datetime.now(UTC)
    assert timedelta(hours=1.9) < wait < timedelta(hours=2.1)
    assert (waiting.value.method_name, live(warehouse)) == ("resume", 1)
    inside = SwapTableOperator(task_id="swap", spec=spec_of(built, **closed(-0.5)))
    assert inside.resume(interval(24), None)["version"] == 2
    assert swaps.execute(interval(24))["replayed"]


def test_it_does_not_wait_for_longer_than_until_the_next_run(built: dict[str, Any], warehouse: Any) -> None:
    swaps = SwapTableOperator(task_id="swap", spec=spec_of(built, **closed(2)))

    with pytest.raises(AirflowSkipException, match=r"is swapped in .* only; a run at that time does it"):
        swaps.execute(interval(1))
    assert live(warehouse) == 1


def test_what_is_not_ready_does_not_wait(words: dict[str, Any], warehouse: Any, metadata: Any) -> None:
    run(build_dag(load_mapping(words | {"publish": "swap"}, name="o.yaml")), DAY)
    swaps = SwapTableOperator(task_id="swap", spec=spec_of(words | {"table_version": 2}, **closed(2)))

    with pytest.raises(AirflowSkipException, match="it is not built yet"):
        swaps.execute(interval(24))


# --- somebody says yes -----------------------------------------------------------------------------


def test_who_would_hold_up_the_next_run_is_not_asked() -> None:
    now = DAY + timedelta(days=1, hours=2)

    assert longest_wait(context(DAY), now) == timedelta(hours=11)
    assert longest_wait(context(DAY - timedelta(days=3)), now) is None
    assert longest_wait(context(DAY, run_type="backfill"), now) is None
    assert longest_wait(context(None, run_type="manual"), now) == timedelta(hours=12)


@pytest.mark.parametrize(
    ("answer", "is_yes"),
    [
        ({"chosen_options": ["Approve"]}, True),
        ({"chosen_options": ["Reject"]}, False),
        ({"chosen_options": []}, False),
        (None, False),
        ("Approve", False),
    ],
)
def test_only_a_yes_is_one(answer: Any, is_yes: bool) -> None:
    assert is_approved(answer) is is_yes


def test_without_a_yes_only_the_param_swaps(built: dict[str, Any], warehouse: Any) -> None:
    dag = build_dag(spec_of(built, mode="swap", cutover="manual"))
    assert ("approve" in dag.task_ids) is not AIRFLOW_2

    done = run(dag, DAY + timedelta(days=8), **RANGE, cutover=True)

    assert (done.state, done.tasks["swap"], live(warehouse)) == ("success", "success", 2)


@pytest.mark.skipif(AIRFLOW_2, reason="asks nobody")
@pytest.mark.parametrize(("answer", "version", "state"), [("Approve", 2, "success"), ("Reject", 1, "skipped")])
def test_somebody_is_asked_when_it_is_ready_and_the_answer_counts(
    built: dict[str, Any], warehouse: Any, answer: str, version: int, state: str
) -> None:
    dag = build_dag(spec_of(built, mode="swap", cutover="manual"))
    asked: list[Any] = []
    somebody = threading.Thread(target=respond, args=(dag.dag_id, answer, asked), daemon=True)
    somebody.start()

    done = run(dag, DAY + timedelta(days=8), **RANGE)

    somebody.join(60)
    [question] = asked
    assert question["subject"] == "Swap version 2 of public.orders in?"
    said = "`public.orders__v2` (version 2) takes the place of `public.orders` (version 1). 1 partitions are compared"
    assert said in question["body"]
    assert "Nothing differs." in question["body"]
    assert "A rollback to version 1 is possible at least until" in question["body"]
    assert (done.tasks["approve"], done.tasks["swap"], live(warehouse)) == ("success", state, version)


@pytest.mark.skipif(AIRFLOW_2, reason="asks nobody")
def test_nobody_is_asked_before_it_is_ready(words: dict[str, Any], warehouse: Any, metadata: Any) -> None:
    run(build_dag(load_mapping(words | {"publish": "swap"}, name="o.yaml")), DAY)
    dag = build_dag(spec_of(words | {"table_version": 2}, mode="swap", cutover="manual"))

    done = run(dag, DAY + timedelta(days=1))

    assert (done.state, done.tasks["approve"], done.tasks["swap"]) == ("success", "skipped", "skipped")


def respond(dag_id: str, answer: str, asked: list[Any]) -> None:
    """Answer the question of a DAG as the page of required actions does."""
    from airflow.models.hitl import HITLDetail
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.trigger import handle_event_submit
    from airflow.triggers.base import TriggerEvent
    from airflow.utils.session import create_session

    until = time.monotonic() + 60
    while time.monotonic() < until:
        time.sleep(0.2)
        with create_session() as session:
            waiting = session.query(TaskInstance).filter_by(dag_id=dag_id, state="awaiting_input").one_or_none()
            detail = session.get(HITLDetail, waiting.id) if waiting is not None else None
            if waiting is None or detail is None:
                continue
            asked.append({"subject": detail.subject, "body": detail.body})
            detail.responded_by = {"id": "1", "name": "somebody"}
            detail.responded_at = datetime.now(UTC)
            detail.chosen_options = [answer]
            detail.params_input = {}
            session.flush()
            handle_event_submit(TriggerEvent(detail.as_resume_event_payload()), task_instance=waiting, session=session)
            return

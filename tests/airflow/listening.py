"""OpenLineage's provider, listening to the tasks of a test: events go to a file, one a line, and are read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS


@contextmanager
def listening(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the provider's own listener, as its plugin does where a transport is configured."""
    listeners = import_module("airflow.sdk.listener" if AIRFLOW_V_3_0_PLUS else "airflow.listeners.listener")
    manager = listeners.get_listener_manager()  # loads plugins, while OpenLineage's still finds itself disabled
    transport = {"type": "file", "log_file_path": str(file), "append": True}
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__TRANSPORT", json.dumps(transport))
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__NAMESPACE", "tests")
    # In a thread, not in a fork that imports everything anew for each event.
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__EXECUTE_IN_THREAD", "True")
    monkeypatch.setenv("AIRFLOW__OPENLINEAGE__EXECUTION_TIMEOUT", "60")
    from airflow.providers.openlineage.plugins.listener import OpenLineageListener

    listener = OpenLineageListener()
    manager.add_listener(listener)
    yield
    manager.pm.unregister(listener)


def events(file: Path) -> list[dict[str, Any]]:
    """All events, oldest first."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def event(file: Path, task: str, kind: str) -> Any:
    """The one event of a task and a kind: START, COMPLETE or FAIL."""
    found = [item for item in events(file) if item["job"]["name"].endswith(f".{task}") and item["eventType"] == kind]
    assert len(found) == 1, [(item["job"]["name"], item["eventType"]) for item in events(file)]
    return found[0]

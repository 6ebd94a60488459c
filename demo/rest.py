"""Airflow as its users see it: the REST API, for following runs."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import DemoError, Servers

FINISHED = {"success", "failed"}


@dataclass(frozen=True)
class Progress:
    """How far a set of runs is: task instances done of those known, and runs by state."""

    tasks_done: int
    tasks: int
    runs: dict[str, str]

    @property
    def is_over(self) -> bool:
        """Every run has ended, well or not."""
        return bool(self.runs) and set(self.runs.values()) <= FINISHED


class Airflow:
    """The REST API of the demo's Airflow, where everyone is an admin."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.token = self._call("/auth/token", method="GET", token=None)["access_token"]

    def wait_for_dag(self, dag_id: str, timeout_s: float = 120.0) -> dict[str, Any]:
        """Return the DAG's record as soon as Airflow has parsed it.

        Raises:
            DemoError: an import error, or no such DAG in time.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.servers.check_alive()
            if errors := self._get("/api/v2/importErrors")["import_errors"]:
                raise DemoError("Airflow cannot import the DAG file:\n" + errors[0]["stack_trace"])
            for dag in self._get("/api/v2/dags", dag_id_pattern=dag_id, exclude_stale="true")["dags"]:
                if dag["dag_id"] == dag_id:
                    return dict(dag)
            time.sleep(0.5)
        raise DemoError(f"DAG {dag_id!r} did not appear within {timeout_s:.0f} s")

    def tasks_of(self, dag_id: str) -> list[str]:
        """Return the task ids of a DAG."""
        return [task["task_id"] for task in self._get(f"/api/v2/dags/{dag_id}/tasks")["tasks"]]

    def progress(self, dag_id: str, days: set[str]) -> Progress:
        """Return how far the runs of these days (logical dates, ``YYYY-MM-DD``) are."""
        runs = {
            run["dag_run_id"]: run["state"]
            for run in self._pages(f"/api/v2/dags/{dag_id}/dagRuns", "dag_runs")
            if (run["logical_date"] or "")[:10] in days
        }
        states = [
            task["state"]
            for task in self._pages(f"/api/v2/dags/{dag_id}/dagRuns/~/taskInstances", "task_instances")
            if task["dag_run_id"] in runs
        ]
        return Progress(sum(state in {"success", "skipped"} for state in states), len(states), runs)

    def follow(self, dag_id: str, days: set[str], timeout_s: float) -> Iterator[Progress]:
        """Yield progress until every run of these days has ended.

        Raises:
            DemoError: a run failed (with the tasks that did, and their last log lines), or the time is over.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.servers.check_alive()
            now = self.progress(dag_id, days)
            yield now
            if now.is_over and len(now.runs) == len(days):
                break
            time.sleep(1)
        else:
            raise DemoError(f"the runs did not end within {timeout_s:.0f} s; they are: {sorted(now.runs.items())}")
        if failed := [run for run, state in now.runs.items() if state == "failed"]:
            raise DemoError("\n".join(self._why(dag_id, failed)))

    def wait_until_backfills_are_closed(self, dag_id: str, tick: Callable[[], None], timeout_s: float = 90.0) -> None:
        """Wait for Airflow's sweep that marks backfills complete: it takes one at a time per DAG."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            backfills = self._get("/api/v2/backfills", dag_id=dag_id)["backfills"]
            if all(backfill["completed_at"] for backfill in backfills):
                return
            tick()
            time.sleep(0.5)
        raise DemoError(f"Airflow did not close the backfill of {dag_id!r} within {timeout_s:.0f} s")

    def wait_for_attempt(self, dag_id: str, task_id: str, day: str, attempt: int, timeout_s: float = 90.0) -> None:
        """Wait until this attempt of a task of the run of ``day`` runs.

        Raises:
            DemoError: it did not come in time.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.servers.check_alive()
            for task in self._tasks(dag_id, {day}, task_id=task_id):
                if task["try_number"] == attempt and task["state"] == "running":
                    return
            time.sleep(0.5)
        raise DemoError(f"{task_id} of {day}: no attempt {attempt} within {timeout_s:.0f} s")

    def seconds(self, dag_id: str, task_id: str) -> dict[str, float]:
        """Return how long the last attempt of a task took, by day."""
        tasks = self._pages(f"/api/v2/dags/{dag_id}/dagRuns/~/taskInstances", "task_instances", task_id=task_id)
        return {task["logical_date"][:10]: task["duration"] for task in tasks if task["duration"]}

    def _why(self, dag_id: str, runs: list[str]) -> Iterator[str]:
        yield f"{len(runs)} run(s) of {dag_id} failed"
        for task in self._pages(f"/api/v2/dags/{dag_id}/dagRuns/~/taskInstances", "task_instances", state="failed"):
            if task["dag_run_id"] in runs:
                yield f"  {task['dag_run_id']} {task['task_id']} [{task['map_index']}] attempt {task['try_number']}"
                yield from self._log_end(task)

    def _log_end(self, task: dict[str, Any], lines: int = 12) -> Iterator[str]:
        root = self.servers.folder / "airflow" / "logs" / f"dag_id={task['dag_id']}" / f"run_id={task['dag_run_id']}"
        for log in sorted(root.glob(f"task_id={task['task_id']}/**/attempt={task['try_number']}.log")):
            yield from (f"    {line[:600]}" for line in Path(log).read_text(errors="replace").splitlines()[-lines:])

    def _pages(self, path: str, key: str, **query: str) -> Iterator[dict[str, Any]]:
        offset, total = 0, 1
        while offset < total:
            page = self._get(path, limit="100", offset=str(offset), **query)
            yield from page[key]
            offset, total = offset + 100, page["total_entries"]

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        return self._call(f"{path}?{urllib.parse.urlencode(query)}", method="GET", token=self.token)

    def _call(self, path: str, *, method: str, token: str | None) -> dict[str, Any]:
        request = urllib.request.Request(self.servers.url + path, method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as refusal:
            raise DemoError(f"{method} {path}: {refusal.code} {refusal.read().decode(errors='replace')[:500]}") from None

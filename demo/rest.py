"""Airflow as its users see it: the REST API, for following runs."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from servers import DemoError, Servers


@dataclass(frozen=True)
class Progress:
    """How far a set of runs is: task instances done of those known, and the state of each run."""

    tasks_done: int
    tasks: int
    runs: dict[str, str]

    @property
    def runs_done(self) -> int:
        """Runs that have ended well."""
        return sum(state == "success" for state in self.runs.values())


class Airflow:
    """One DAG, seen through the REST API of the demo's Airflow, where everyone is an admin."""

    def __init__(self, servers: Servers, dag_id: str) -> None:
        self.servers = servers
        self.dag_id = dag_id
        self.dag = f"/api/v2/dags/{dag_id}"
        self.token = self._call("/auth/token", token=None)["access_token"]

    def wait_for_dag(self) -> None:
        """Wait until Airflow has parsed the DAG.

        Raises:
            DemoError: an import error, or no such DAG in time.
        """

        def look() -> bool:
            if errors := self._get("/api/v2/importErrors")["import_errors"]:
                raise DemoError("Airflow cannot import the DAG file:\n" + errors[0]["stack_trace"])
            found = self._get("/api/v2/dags", dag_id_pattern=self.dag_id, exclude_stale="true")["dags"]
            return bool(found and self._get(f"{self.dag}/dagVersions")["total_entries"])

        self.servers.wait_for(f"DAG {self.dag_id!r} appears", look)

    def task_ids(self) -> list[str]:
        """Return the task ids of the DAG, upstream before downstream."""
        tasks = self._get(f"{self.dag}/tasks")["tasks"]
        after = TopologicalSorter({task["task_id"]: task["downstream_task_ids"] for task in tasks})
        return list(after.static_order())[::-1]

    def follow(self, days: set[str], timeout_s: float = 240.0) -> Iterator[Progress]:
        """Yield the progress of the runs of these logical dates (``YYYY-MM-DD``) until all have ended well.

        Raises:
            DemoError: a run failed (with the tasks that did, and what their logs say), or the time is over.
        """
        deadline = time.monotonic() + timeout_s
        while (now := self._progress(days)).runs_done < len(days):
            yield now
            if failed := [run for run, state in now.runs.items() if state == "failed"]:
                raise DemoError("\n".join(self._why(failed)))
            if time.monotonic() > deadline:
                raise DemoError(f"not ended after {timeout_s:.0f} s: {sorted(now.runs.items())}")
            time.sleep(1)
        yield now

    def wait_until_no_backfill_is_open(self) -> None:
        """Wait for Airflow's sweep, every 30 s, that marks backfills complete: a DAG can have one at a time."""

        def look() -> bool:
            backfills = self._get("/api/v2/backfills", dag_id=self.dag_id)["backfills"]
            return all(backfill["completed_at"] for backfill in backfills)

        self.servers.wait_for(f"Airflow closes the last backfill of {self.dag_id}", look)

    def attempt(self, task_id: str, day: str) -> int:
        """Return the number of the newest attempt of a task in the run of ``day``; reruns count on."""
        return max(int(task["try_number"]) for task in self._tasks({day}, task_id=task_id))

    def _progress(self, days: set[str]) -> Progress:
        runs = self._pages(f"{self.dag}/dagRuns", "dag_runs")
        states = [task["state"] for task in self._tasks(days)]
        done = sum(state in {"success", "skipped"} for state in states)
        return Progress(done, len(states), {run["dag_run_id"]: run["state"] for run in runs if _day(run) in days})

    def _why(self, runs: list[str]) -> Iterator[str]:
        yield f"{len(runs)} run(s) of {self.dag_id} failed"
        for task in self._pages(f"{self.dag}/dagRuns/~/taskInstances", "task_instances", state="failed"):
            if task["dag_run_id"] in runs:
                yield f"  {task['dag_run_id']} {task['task_id']} [{task['map_index']}] attempt {task['try_number']}"
                yield from self._errors(task)

    def _errors(self, task: dict[str, Any]) -> Iterator[str]:
        folder = self.servers.folder / "airflow" / "logs" / f"dag_id={task['dag_id']}" / f"run_id={task['dag_run_id']}"
        for log in folder.glob(f"task_id={task['task_id']}/**/attempt={task['try_number']}.log"):
            lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
            for line in (line for line in lines if line.get("level") == "error"):
                yield f"    {line['event']}"
                yield from (f"    {e['exc_type']}: {e['exc_value']}" for e in line.get("error_detail") or [])

    def _tasks(self, days: set[str], **query: str) -> list[dict[str, Any]]:
        found = self._pages(f"{self.dag}/dagRuns/~/taskInstances", "task_instances", **query)
        return [task for task in found if _day(task) in days]

    def _pages(self, path: str, key: str, **query: str) -> Iterator[dict[str, Any]]:
        offset, total = 0, 1
        while offset < total:
            page = self._get(path, limit="100", offset=str(offset), **query)
            yield from page[key]
            offset, total = offset + 100, page["total_entries"]

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        return self._call(f"{path}?{urllib.parse.urlencode(query)}", token=self.token)

    def _call(self, path: str, *, token: str | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.servers.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as refusal:
            raise DemoError(f"GET {path}: {refusal.code} {refusal.read().decode(errors='replace')[:500]}") from None
        except urllib.error.URLError as silence:
            raise DemoError(f"GET {path}: the api-server does not answer: {silence.reason}") from None


def _day(record: dict[str, Any]) -> str:
    return str(record["logical_date"] or "")[:10]

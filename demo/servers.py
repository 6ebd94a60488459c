"""What the demo runs: one PostgreSQL and the parts of Airflow, started in order, stopped together."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import processes
import psycopg

HERE = Path(__file__).resolve().parent
DAGS = HERE.parent / "dags"
KEPT = HERE.parent / ".demo"
STATE = "servers.json"
AIRFLOW = str(Path(sys.executable).with_name("airflow"))

T = TypeVar("T")


class DemoError(Exception):
    """Something is not as it should be: the demo ends with exit code 1 and says this."""


@dataclass
class Servers:
    """The running demo. ``folder`` holds all it writes, but for the database's own files."""

    folder: Path
    api_port: int
    parts: list[processes.Started] = field(default_factory=list)
    database: str = ""
    env: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address of the Airflow UI and of its REST API."""
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def warehouse(self) -> str:
        """The address of the database that holds the tables and the ledger."""
        return f"{self.database}/warehouse"

    def start(self, step: Callable[[str], AbstractContextManager[None]]) -> None:
        """Bring everything up, the api-server before what talks to it; each step runs inside ``step(name)``."""
        if self.folder != KEPT:
            self._start_leash()
        with step("PostgreSQL"):
            self._start_database()
        with step("Airflow's metadata database"):
            self.call("db", "migrate")
        with step("Airflow's api-server"):
            self._airflow("api-server", "--host", "127.0.0.1", "--port", str(self.api_port), "--workers", "1")
            self.wait_for("the api-server answers", self._api_answers)
        self._airflow("scheduler", "--skip-serve-logs")
        self._airflow("dag-processor")

    def call(self, *arguments: str) -> str:
        """Run ``airflow …`` to its end and return what it printed.

        Raises:
            DemoError: it failed; the message holds its last lines.
        """
        done = subprocess.run([AIRFLOW, *arguments], env=self.env, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise DemoError("\n".join([f"airflow {' '.join(arguments)}: exit code {done.returncode}", *lines[-12:]]))
        return done.stdout

    def wait_for(self, what: str, look: Callable[[], T | None], timeout_s: float = 120.0) -> T:
        """Ask ``look`` until it gives an answer that is not empty, and return that.

        Raises:
            DemoError: there was none in time, or a part of the demo has ended.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self._check_alive()
            if answer := look():
                return answer
            time.sleep(0.3)
        raise DemoError(f"{what}: waited {timeout_s:.0f} s in vain; the servers' logs are in {self.folder / 'logs'}")

    def _check_alive(self) -> None:
        for part in self.parts:
            if part.process() is None:
                lines = self._log(part.name).read_text(errors="replace").splitlines()
                raise DemoError("\n".join([f"{part.name} ended by itself; the end of its log:", *lines[-15:]]))

    def stop(self) -> None:
        """Stop every process, the database last; a temporary folder is deleted, a kept one stays."""
        database, airflow = self.parts[:1], self.parts[1:]
        processes.stop(airflow)
        processes.stop(database)
        if self.folder == KEPT:
            (KEPT / STATE).unlink(missing_ok=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _start_leash(self) -> None:
        command = [sys.executable, str(HERE / "leash.py"), str(self.folder)]
        subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, start_new_session=True)

    def _start_database(self) -> None:
        address = self.folder / "postgres.address"
        self._part("postgres", [sys.executable, str(HERE / "database.py"), str(address)], _plain_environment())
        self.wait_for("PostgreSQL accepts connections", address.exists)
        self.database = address.read_text().rpartition("/")[0]
        with psycopg.connect(f"{self.database}/postgres", autocommit=True) as connection:
            connection.execute("create database airflow")
            connection.execute("create database warehouse")
        self.env = _environment(self)

    def _airflow(self, name: str, *arguments: str) -> None:
        self._part(name, [AIRFLOW, name, *arguments], self.env)

    def _part(self, name: str, command: Sequence[str], env: dict[str, str]) -> None:
        self.parts.append(processes.start(name, command, env, self.folder, self._log(name)))
        self._remember()

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _api_answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/monitor/health", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def _remember(self) -> None:
        parts = [asdict(part) for part in self.parts]
        (self.folder / STATE).write_text(json.dumps({"api_port": self.api_port, "parts": parts}))


def create(*, keep: bool) -> Servers:
    """Choose the folder and the port; nothing is started yet."""
    if keep:
        shutil.rmtree(KEPT, ignore_errors=True)
        KEPT.mkdir()
    folder = KEPT if keep else Path(tempfile.mkdtemp(prefix="airflow-idempotent-demo-"))
    (folder / "logs").mkdir()
    return Servers(folder, processes.free_port())


def found_in(folder: Path) -> Servers | None:
    """Return the servers that an earlier process started from this folder and did not stop, or None."""
    try:
        state = json.loads((folder / STATE).read_text())
    except FileNotFoundError:
        return None
    return Servers(folder, state["api_port"], [processes.Started(**part) for part in state["parts"]])


def _plain_environment() -> dict[str, str]:
    """Our environment without the caller's own Airflow."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # importing Airflow takes twice as long without .pyc files
    return env


def _environment(servers: Servers) -> dict[str, str]:
    options = {
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__PARALLELISM": "4",
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__DAGS_FOLDER": str(DAGS),
        "CORE__DEFAULT_TASK_RETRY_DELAY": "2",
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "CORE__EXECUTION_API_SERVER_URL": f"{servers.url}/execution/",
        "API__BASE_URL": servers.url,
        "API__SECRET_KEY": secrets.token_hex(),
        "API_AUTH__JWT_SECRET": secrets.token_hex(),
        "DATABASE__SQL_ALCHEMY_CONN": f"{servers.database}/airflow",
        "WORKERS__EXECUTION_API_TIMEOUT": "60",
    }
    configuration = {f"AIRFLOW__{name}": value for name, value in options.items()}
    others = {
        "AIRFLOW_HOME": str(servers.folder / "airflow"),
        "AIRFLOW_CONN_WAREHOUSE": servers.warehouse,
        "PYTHONWARNINGS": "ignore:Could not import graphviz",  # printed before every command's result
    }
    return _plain_environment() | configuration | others

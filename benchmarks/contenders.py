"""The two programs that are compared, each a whole process from start to exit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SPEC = HERE / "orders.yaml"
LIMIT = HERE / "limit.sql"


@dataclass(frozen=True, slots=True)
class Run:
    """One process that ended well."""

    seconds: float
    peak_kb: int
    """Most memory it held at once (VmHWM)."""
    output: str

    @property
    def partition(self) -> dict[str, Any]:
        """What ``run --json`` says of its one partition."""
        [found] = json.loads(self.output)["partitions"]
        return dict(found)

    @property
    def effects(self) -> dict[str, int]:
        """Row effects, without the zeros."""
        return {name: count for name, count in self.partition["published"]["effects"].items() if count}


class ContenderError(RuntimeError):
    """A process failed, or gave a wrong answer."""


def limit(psql: Path, dsn: str, file: Path) -> Run:
    """The hand-written script."""
    return timed([psql, "-X", "-q", "-d", dsn, "-v", f"file={file}", "-f", LIMIT], folder=HERE)


def ours(dsn: str, partition: str, folder: Path, *options: str) -> Run:
    """Our ``run``: land, stage_merge, validate. ``folder`` has the inbox, and gets the landed batches."""
    script = Path(sys.executable).with_name("airflow-idempotent")
    command = [script] if script.exists() else [sys.executable, "-m", "airflow_idempotent"]
    return timed([*command, "run", SPEC, "--partition", partition, "--dsn", dsn, "--json", *options], folder=folder)


def timed(command: Sequence[str | Path], *, folder: Path) -> Run:
    """Run a process to its end, and measure it.

    Raises:
        ContenderError: it failed.
    """
    words = [str(word) for word in command]
    # Without .pyc files half a second of every start would be spent on compiling.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        process = subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)  # the usage of this child alone, not the most of all children
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if process.returncode:
        raise ContenderError(f"exit code {process.returncode}: {' '.join(words)}\n{text}")
    return Run(seconds, peak_kb(usage.ru_maxrss), text)


def peak_kb(maxrss: int) -> int:
    """Linux counts kilobytes, macOS bytes."""
    return maxrss // 1024 if sys.platform == "darwin" else maxrss

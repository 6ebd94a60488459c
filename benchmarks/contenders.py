"""The two programs that are compared, each a whole process from start to exit."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
SPEC = HERE / "orders.yaml"
LIMIT = HERE / "limits" / "merge.sql"
WATCH_S = 0.05


@dataclass(frozen=True, slots=True)
class Run:
    """One process that ended well."""

    seconds: float
    peak_kb: int
    """Most memory it held at once; 0 where the system does not tell."""
    cpu: float
    """Processor seconds; the server's come on top."""
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


def limit(psql: Path, dsn: str, file: Path, *, script: Path = LIMIT, **words: str) -> Run:
    """The hand-written script; ``words`` are what it knows beside the file."""
    variables = [word for name, value in {"file": file, **words}.items() for word in ("-v", f"{name}={value}")]
    return timed([psql, "-X", "-q", "-d", dsn, *variables, "-f", script], folder=HERE)


def ours(dsn: str, partition: str | Sequence[str], folder: Path, *options: str, spec: Path = SPEC) -> Run:
    """Our ``run``: land, stage_merge, validate. ``folder`` has the inbox, and gets the landed batches."""
    return timed([*our_command(dsn, partition, spec), *options], folder=folder)


def our_command(dsn: str, partition: str | Sequence[str], spec: Path = SPEC) -> list[str | Path]:
    """What is typed to load one partition, or several."""
    script = Path(sys.executable).with_name("airflow-idempotent")
    command = [script] if script.exists() else [sys.executable, "-m", "airflow_idempotent"]
    keys = [partition] if isinstance(partition, str) else partition
    named = [word for key in keys for word in ("--partition", key)]
    return [*command, "run", spec, *named, "--dsn", dsn, "--json"]


def deliver(folder: Path, partition: str, file: Path) -> None:
    """Put a file where our ``run`` looks for the partition's, in place of what was there."""
    inbox = folder / "inbox" / partition
    shutil.rmtree(inbox, ignore_errors=True)
    inbox.mkdir(parents=True)
    os.link(file, inbox / file.name)


def timed(command: Sequence[str | Path], *, folder: Path) -> Run:
    """Run a process to its end, and take the time.

    Raises:
        ContenderError: it failed.
    """
    peaks = [0]
    with tempfile.TemporaryFile() as out:
        cpu, began = cpu_of_children(), time.perf_counter()
        process = start(command, folder, out)
        watcher = threading.Thread(target=watch, args=(process, peaks))
        watcher.start()
        process.wait()
        seconds = time.perf_counter() - began
        watcher.join()
        out.seek(0)
        text = out.read().decode(errors="replace")
    if process.returncode:
        raise ContenderError(f"exit code {process.returncode}: {' '.join(map(str, command))}\n{text}")
    return Run(seconds, max(peaks), cpu_of_children() - cpu, text)


def start(command: Sequence[str | Path], folder: Path, out: IO[bytes]) -> subprocess.Popen[bytes]:
    # Without .pyc files half a second of every start would be spent on compiling.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def cpu_of_children() -> float:
    """Processor seconds of all processes that we started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watch(process: subprocess.Popen[bytes], peaks: list[int]) -> None:
    """Note the peak of a process's memory, in kB, until it ends; nothing where the system does not tell.

    Not by getrusage: there a child begins with the peak of the parent that forked it.
    """
    status = Path(f"/proc/{process.pid}/status")
    while process.returncode is None:
        with suppress(OSError):
            peaks += map(int, re.findall(r"VmHWM:\s*(\d+)", status.read_text()))
        time.sleep(WATCH_S)

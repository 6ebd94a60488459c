"""Processes that can be started, found again later, and stopped with all they started.

Airflow puts each task into a process group of its own, so a signal to the
scheduler's group does not reach them: stopping follows the tree instead.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PATIENCE_S = 5.0


@dataclass(frozen=True)
class Started:
    """One process we started; the start time tells it from a later one with the same pid."""

    name: str
    pid: int
    created: float

    def process(self) -> psutil.Process | None:
        """Return the process while it is alive and still the one we started."""
        try:
            process = psutil.Process(self.pid)
            alive = process.create_time() == self.created and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if alive else None


def start(name: str, command: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path) -> Started:
    """Start ``command`` in a session of its own, so that Ctrl-C here does not reach it."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Started(name, child.pid, psutil.Process(child.pid).create_time())


def stop(everything: Iterable[Started]) -> None:
    """End these processes and all their descendants, politely first; dead ones are skipped."""
    roots = [process for each in everything if (process := each.process())]
    family = {process.pid: process for root in roots for process in _tree(root)}
    for root in roots:
        _send(root, signal.SIGTERM)
    psutil.wait_procs(family.values(), timeout=PATIENCE_S)
    for root in roots:  # what was started in the meantime
        family |= {process.pid: process for process in _tree(root)}
    for process in family.values():
        _send(process, signal.SIGKILL)
    psutil.wait_procs(family.values(), timeout=PATIENCE_S)


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _send(process: psutil.Process, number: signal.Signals) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def free_port() -> int:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def client_of(port: int, server: int) -> psutil.Process | None:
    """Return our process whose local TCP port is ``port``, connected to ``server``; None if there is none."""
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            connections = process.net_connections(kind="tcp")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if any(c.laddr.port == port and c.raddr and c.raddr.port == server for c in connections):
            return process
    return None

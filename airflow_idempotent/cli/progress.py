"""Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from airflow_idempotent.cli.output import megabytes

PATIENCE = 0.5
"""Seconds before a bar appears: short work needs none, and is not kept waiting for rich."""
INTERVAL = 5.0


class Bar:
    """Shows how far a partition is. Silent until it takes long; leaves nothing on the screen."""

    def __init__(self, table: str, partition: str, *, silent: bool = False) -> None:
        self._name = f"{table} {partition}"
        self._silent = silent
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (PATIENCE if self._terminal else INTERVAL)
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: str, rows: int, size: int, of: int) -> None:
        """Tell that ``step`` has read ``rows`` rows and ``size`` of ``of`` bytes; 0 is unknown."""
        if self._silent or (self._bar is None and time.monotonic() < self._next):
            return
        amount = ", ".join(([f"{rows:,} rows"] if rows else []) + ([megabytes(size)] if size else []))
        if self._terminal:
            self._draw(step, amount, size, of)
        else:
            self._next = time.monotonic() + INTERVAL
            percent = f" of {megabytes(of)} ({size * 100 // of} %)" if of else ""
            print(f"{self._name} {step}: {amount}{percent}", file=sys.stderr, flush=True)

    def _draw(self, step: str, amount: str, size: int, of: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn(self._name),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[amount]}"),
            )
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
        if step not in self._tasks:
            self._tasks[step] = self._bar.add_task(step, total=of or None, amount=amount)
        self._bar.update(self._tasks[step], completed=size, amount=amount)

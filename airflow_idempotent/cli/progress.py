"""Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from threading import Lock, Timer
from typing import Any

from airflow_idempotent.cli.output import megabytes

PATIENCE = 0.5
"""Seconds before a bar appears: short work needs none, and is not kept waiting for rich."""
INTERVAL = 5.0
"""Seconds between two lines where there is no terminal."""


class Bar:
    """Shows how far a partition is; on a terminal it is gone when the work is done."""

    def __init__(self, table: str, partition: str, *, silent: bool = False) -> None:
        self._name = f"{table} {partition}"
        self._lines = not silent and not sys.stderr.isatty()
        self._timer = Timer(PATIENCE, self._appear) if not silent and not self._lines else None
        self._next = time.monotonic() + INTERVAL
        self._lock = Lock()
        self._now: tuple[str, str, int, int] = ("", "", 0, 0)  # step, amount, done, in all
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Bar:
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer.join()
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: str, rows: int, size: int, of: int) -> None:
        """Tell that ``step`` has read ``rows`` rows and ``size`` of ``of`` bytes; 0 is unknown."""
        amount = self.amount(rows, size, of)
        self._show(step, amount, self.total(amount, of), size, of)

    def count(self, step: str, done: int, of: int, noun: str = "rows") -> None:
        """Tell that ``step`` is through with ``done`` of ``of`` rows, or of what else it counts."""
        self._show(step, f"{done:,} {noun}", f"{done:,} {noun} of {of:,}", done, of)

    def _show(self, step: str, amount: str, line: str, done: int, of: int) -> None:
        with self._lock:
            self._now = (step, amount, done, of)
            if self._bar is not None:
                self._draw()
        if self._lines and time.monotonic() >= self._next:
            self._next = time.monotonic() + INTERVAL
            share = f" ({done * 100 // of} %)" if of else ""
            said = f": {line}{share}" if amount else ""
            print(f"{self._name} {step}{said}", file=sys.stderr, flush=True)

    def amount(self, rows: int, size: int, of: int) -> str:
        """How far it is, beside the bar."""
        return ", ".join(([f"{rows:,} rows"] if rows else []) + ([megabytes(size)] if size else []))

    def total(self, amount: str, of: int) -> str:
        """The same with what there is in all, where there is no bar to show it."""
        return f"{amount} of {megabytes(of)}" if of else amount

    def _appear(self) -> None:
        """Draw the bar for the first time; what is slow by now deserves one."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            columns = (
                TextColumn(f"{self._name} {{task.description}}"),
                BarColumn(),
                TextColumn("{task.fields[amount]}"),
            )
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._draw()

    def _draw(self) -> None:
        step, amount, done, of = self._now
        if step not in self._tasks:
            self._tasks[step] = self._bar.add_task(step, total=of or None, amount=amount)
        self._bar.update(self._tasks[step], completed=done, amount=amount)

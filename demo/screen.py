"""What the demo prints: headings, commands, tables, a progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rest import Progress
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress as Bar, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from warehouse import EFFECTS, Entry

console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
STARTED = time.monotonic()


def chapter(number: int, title: str) -> None:
    """Print a heading with the time since the start."""
    console.print()
    console.rule(f"[bold]{number}  {title}[/]  [dim]{time.monotonic() - STARTED:.0f} s[/]", align="left")


def command(text: str) -> None:
    """Print a command as a user would type it."""
    console.print(f"[bold cyan]$[/] [bold]{escape(text)}[/]", soft_wrap=True)


def say(text: str) -> None:
    """Print one sentence."""
    console.print(escape(text))


def good(text: str) -> None:
    """Print a fact that was checked and holds."""
    console.print(f"[green]✓[/] {escape(text)}")


def bad(text: str) -> None:
    """Print why the demo stops."""
    console.print(f"[bold red]✗[/] {escape(text)}")


def spec(text: str) -> None:
    """Print a table spec."""
    console.print(Syntax(text.rstrip(), "yaml", background_color="default", word_wrap=True))


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a spinner during the block, and how long it took afterwards."""
    began = time.monotonic()
    with console.status(escape(text)):
        yield
    console.print(f"[dim]{escape(text)}: {time.monotonic() - began:.1f} s[/]")


def follow(title: str, progress: Iterator[Progress]) -> None:
    """Show a bar that follows the runs to their end."""
    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[what]}")]
    with Bar(*columns, TimeElapsedColumn(), console=console) as bar:
        line = bar.add_task(title, total=None, what="")
        for now in progress:
            days = sum(state == "success" for state in now.runs.values())
            what = f"{now.tasks_done}/{now.tasks} tasks, {days}/{len(now.runs)} days"
            bar.update(line, total=now.tasks or None, completed=now.tasks_done, what=what)


def ledger(entries: list[Entry], seconds: dict[str, float]) -> None:
    """Print the ledger: a line for each partition, and the sums."""
    table = Table("partition", "state", "batch", title="ledger: airflow_idempotent.partitions", title_justify="left")
    for name in ("rows", *EFFECTS, "seconds"):
        table.add_column(name, justify="right")
    for entry in entries:
        table.add_row(entry.partition, entry.state, entry.batch, *_numbers(entry), _seconds(seconds, entry.partition))
    sums = [sum(entry.rows for entry in entries), *(sum(e.effects[name] for e in entries) for name in EFFECTS)]
    table.add_section()
    table.add_row("all", "", "", *map(_number, sums), f"{sum(seconds.values()):.1f}", style="bold")
    console.print(table)


def facts(rows: list[tuple[str, Any]]) -> None:
    """Print pairs of a name and a value."""
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(f"[dim]{escape(name)}[/]", escape(str(value)))
    console.print(table)


def _numbers(entry: Entry) -> list[str]:
    return [_number(entry.rows), *(_number(entry.effects[name]) for name in EFFECTS)]


def _number(value: int) -> str:
    return f"{value:,}" if value else "[dim]0[/]"


def _seconds(seconds: dict[str, float], partition: str) -> str:
    return f"{seconds[partition]:.1f}" if partition in seconds else ""

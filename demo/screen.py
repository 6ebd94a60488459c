"""What the demo prints: headings, commands, facts, tables, a progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rest import Progress
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.syntax import Syntax
from rich.table import Table
from warehouse import EFFECTS, Entry

console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
began = time.monotonic()


def chapter(number: int, title: str) -> None:
    """Print a heading with the time since the start."""
    console.print()
    console.rule(f"[bold]{number}  {title}[/]  [dim]{time.monotonic() - began:.0f} s[/]", align="left")


def command(text: str) -> None:
    """Print a command as a user would type it."""
    console.print(f"[bold cyan]$ {escape(text)}[/]", soft_wrap=True)


def say(text: str) -> None:
    """Print a sentence."""
    console.print(escape(text), soft_wrap=True)


def good(text: str) -> None:
    """Print a fact that was checked and holds."""
    console.print(f"[green]✓[/] {escape(text)}", soft_wrap=True)


def bad(text: str) -> None:
    """Print why the demo stops."""
    console.print(f"[bold red]✗[/] {escape(text)}", soft_wrap=True)


def facts(*rows: tuple[str, object]) -> None:
    """Print pairs of a name and a value."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.print(f"  [dim]{escape(name.ljust(width))}[/]  {escape(str(value))}", soft_wrap=True)


def spec(text: str) -> None:
    """Print a table spec."""
    console.print(Syntax(text.rstrip(), "yaml", background_color="default", word_wrap=True))


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a spinner during the block, and afterwards how long it took."""
    since = time.monotonic()
    with console.status(escape(text)):
        yield
    console.print(f"  [dim]{escape(text)}: {time.monotonic() - since:.1f} s[/]", soft_wrap=True)


def follow(title: str, progress: Iterator[Progress]) -> None:
    """Show a bar that follows runs to their end."""
    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[what]}")]
    with Bar(*columns, TimeElapsedColumn(), console=console) as bar:
        line = bar.add_task(title, total=None, what="")
        for now in progress:
            what = f"{now.tasks_done}/{now.tasks} tasks, {now.runs_done}/{len(now.runs)} runs"
            bar.update(line, total=now.tasks or None, completed=now.tasks_done, what=what)


def ledger(entries: Sequence[Entry]) -> None:
    """Print the ledger: a line for each partition, and the sums."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("partition", "state", "batch"):
        table.add_column(name)
    for name in ("rows", *EFFECTS, "seconds"):
        table.add_column(name, justify="right")
    lines = [(entry.rows, *entry.effects.values()) for entry in entries]
    for entry, numbers in zip(entries, lines, strict=True):
        table.add_row(entry.partition, entry.state, entry.batch, *map(_number, numbers), f"{entry.seconds:.2f}")
    if len(lines) > 1:
        table.add_section()
        table.add_row("all", "", "", *(_number(sum(column)) for column in zip(*lines, strict=True)), "", style="bold")
    console.print(table)


def _number(value: int) -> str:
    return f"{value:,}" if value else "[dim]0[/]"

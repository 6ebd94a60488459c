"""Ours beside the hand-written script, row by row: times, what a second run did, and the ratios that are promised.

The script copies a file into the table and writes; that is what stage_merge does, ledger and digest included, and
what the promise is about. ``run`` is the whole command: it starts, lands the file, loads it and validates it.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import report
from report import Goal
from rich.box import SIMPLE_HEAD
from rich.table import Table
from turns import Figures, Key


def publish(name: str, figures: Figures, facts: Mapping[str, Any], options: argparse.Namespace, *, most: float) -> int:
    """Print and write down; the exit code."""
    report.console.print(first_loads(figures))
    report.console.print(second_loads(figures))
    document = {"facts": facts, "rounds": options.rounds, "runs": report.as_json(figures)}
    full = not (options.quick or options.limits_only)
    return report.conclude(name, goals(figures, most, timed=not options.quick), document, full=full)


def goals(figures: Figures, most: float, *, timed: bool) -> list[Goal]:
    """How each strategy stands; a quick run says nothing about times."""
    found: list[Goal] = []
    for name in names(figures):
        if (name, "ours", "first") not in figures.seconds:
            continue
        if timed:
            loads = median(figures.loads, name, "ours", "first") or 0.0
            found.append((f"{name}: stage_merge ÷ limit", loads / figures.median(name, "limit", "first"), most))
        found.append((f"{name}: rows touched by a re-run", figures.touched.get((name, "ours", "rerun"), 0), 0))
    return found


def first_loads(figures: Figures) -> Table:
    """What is promised: ours against the script."""
    heads = ("limit s", "run s", "stage_merge s", "run ÷ limit", "stage_merge ÷ limit", "CPU ÷ limit")
    shown = blank("First load, whole processes, medians", heads)
    for name in names(figures):
        limit, ours = (median(figures.seconds, name, contender, "first") for contender in ("limit", "ours"))
        within = median(figures.loads, name, "ours", "first")
        cpu = (median(figures.cpu, name, contender, "first") for contender in ("ours", "limit"))
        ratios = divided(ours, limit), divided(within, limit), divided(*cpu)
        shown.add_row(name, *map(number, (limit, ours, within, *ratios)))
    return shown


def second_loads(figures: Figures) -> Table:
    """What the same batch does once more, and what the first load wrote."""
    heads = ("limit s", "ours s", "÷ first", "rows touched", "first: WAL MB limit", "ours")
    shown = blank("The same batch again", heads)
    for name in names(figures):
        limit, ours = (median(figures.seconds, name, contender, "rerun") for contender in ("limit", "ours"))
        first = median(figures.seconds, name, "ours", "first")
        logged = (median(figures.wal, name, contender, "first") for contender in ("limit", "ours"))
        touched = figures.touched.get((name, "ours", "rerun"))
        seconds = map(number, (limit, ours, divided(ours, first)))
        megabytes = (number(divided(size, 1e6)) for size in logged)
        shown.add_row(name, *seconds, "" if touched is None else str(touched), *megabytes)
    return shown


def blank(title: str, heads: Sequence[str]) -> Table:
    """A table with a column of names before the figures."""
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    shown.add_column("", no_wrap=True)
    for head in heads:
        shown.add_column(head, justify="right")
    return shown


def median(turns: Mapping[Key, Sequence[float]], *key: str) -> float | None:
    """None for what was not measured."""
    values = turns.get((key[0], key[1], key[2]))
    return statistics.median(values) if values else None


def divided(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def names(figures: Figures) -> list[str]:
    return list(dict.fromkeys(key[0] for key in figures.seconds))

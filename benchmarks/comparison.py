"""Ours beside the hand-written script, row by row: times, what a second run did, and the ratios that are promised."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping
from typing import Any

import report
from report import Goal
from rich.box import SIMPLE_HEAD
from rich.table import Table
from turns import Figures

COLUMNS = (
    *("limit s", "ours s", "without start", "ours ÷ limit", "without start", "CPU ÷ limit"),
    *("re-run limit", "ours", "ours ÷ first", "touched", "WAL MB limit", "ours"),
)


def publish(name: str, figures: Figures, facts: Mapping[str, Any], options: argparse.Namespace, *, most: float) -> int:
    """Print and write down; the exit code."""
    report.console.print(table(figures))
    document = {"facts": facts, "rounds": options.rounds, "runs": report.as_json(figures)}
    return report.conclude(name, goals(figures, most, timed=not options.quick), document, full=not options.quick)


def goals(figures: Figures, most: float, *, timed: bool) -> list[Goal]:
    """How each strategy stands; a quick run says nothing about times."""
    found: list[Goal] = []
    for name in names(figures):
        if (name, "ours", "first") not in figures.seconds:
            continue
        if timed:
            ratio = figures.median(name, "ours", "first") / figures.median(name, "limit", "first")
            found.append((f"{name}: first load ÷ limit", ratio, most))
        found.append((f"{name}: rows touched by a re-run", figures.touched.get((name, "ours", "rerun"), 0), 0))
    return found


def table(figures: Figures) -> Table:
    shown = Table(title="Whole processes, medians", title_justify="left", box=SIMPLE_HEAD)
    for head in ("", *COLUMNS):
        shown.add_column(head, justify="right" if head else "left")
    for name in names(figures):
        shown.add_row(name, *row(figures, name))
    return shown


def row(figures: Figures, name: str) -> list[str]:
    """One strategy; blanks for what was not measured."""

    def median(turns: Mapping[Any, list[Any]], contender: str, phase: str) -> float | None:
        values = turns.get((name, contender, phase))
        return statistics.median(values) if values else None

    limit, ours = (median(figures.seconds, contender, "first") for contender in ("limit", "ours"))
    within = median(figures.within, "ours", "first")
    cpu = (median(figures.cpu, contender, "first") for contender in ("ours", "limit"))
    again = [median(figures.seconds, contender, "rerun") for contender in ("limit", "ours")]
    logged = [median(figures.wal, contender, "first") for contender in ("limit", "ours")]
    touched = figures.touched.get((name, "ours", "rerun"))
    ratios = divided(ours, limit), divided(within, limit), divided(*cpu)
    return [
        *map(number, (limit, ours, within, *ratios, *again, divided(again[1], ours))),
        "" if touched is None else str(touched),
        *(number(size / 1e6 if size else None) for size in logged),
    ]


def divided(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def names(figures: Figures) -> list[str]:
    return list(dict.fromkeys(key[0] for key in figures.seconds))

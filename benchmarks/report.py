"""What was measured, as tables for people and as a file to compare with later."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from turns import Figures, Key
from warehouse import Warehouse

from airflow_idempotent import __version__

HERE = Path(__file__).parent
console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)

Goal = tuple[str, float, float]
"""What, the figure, the most it may be."""


def say(text: str) -> None:
    console.print(f"[dim]{escape(text)}[/]", soft_wrap=True)


def fail(text: str) -> None:
    console.print(f"[bold red]✗[/] {escape(text)}", soft_wrap=True)


def publish(figures: Figures, peaks: Mapping[int, float], facts: Mapping[str, Any], *, rounds: int, full: bool) -> int:
    """Print what ``make bench`` measured and write it down; the exit code."""
    console.print(times(figures))
    console.print(reruns(figures))
    memory = {"peak_memory_mb": {f"{size} MB": round(peak, 1) for size, peak in peaks.items()}}
    document = {"facts": facts, "rounds": rounds, **memory, "runs": as_json(figures)}
    return conclude("", goals(figures, peaks, timed=full), document, full=full)


def conclude(name: str, found: list[Goal], document: Mapping[str, Any], *, full: bool) -> int:
    """Print how the goals stand, and write the document beside the results of other days; the exit code.

    What was measured earlier on the same day, and not now, stays in the day's file.
    """
    console.print(judged(found))
    if full:
        day = dt.datetime.now(dt.UTC).date().isoformat()
        path = HERE / "results" / f"{'-'.join(filter(None, (name, day)))}.json"
        path.parent.mkdir(exist_ok=True)
        stands = [{"what": what, "figure": round(figure, 4), "most": most} for what, figure, most in found]
        path.write_text(json.dumps(with_earlier(path, {**document, "goals": stands}), indent=1) + "\n")
        say(f"written to {path.relative_to(HERE.parent)}")
    return 0 if all(figure <= most for _, figure, most in found) else 1


def with_earlier(path: Path, document: dict[str, Any]) -> dict[str, Any]:
    """The document, with the runs and goals of an earlier one that it has not itself; each run says of which commit."""
    facts = document["facts"]
    runs = [{**run, "commit": facts["commit"], "date": facts["date"]} for run in document["runs"]]
    earlier = json.loads(path.read_text()) if path.exists() else {"runs": [], "goals": []}
    return {
        **document,
        "runs": _and_others(runs, earlier["runs"], "target", "contender", "phase", "command"),
        "goals": _and_others(document["goals"], earlier["goals"], "what"),
    }


def _and_others(items: list[dict[str, Any]], earlier: list[dict[str, Any]], *named: str) -> list[dict[str, Any]]:
    """Items, behind those of earlier whose names none of them has."""
    taken = {tuple(map(item.get, named)) for item in items}
    return [item for item in earlier if tuple(map(item.get, named)) not in taken] + items


def as_json(figures: Figures) -> list[dict[str, Any]]:
    """Every single turn, so that later runs can be compared with more than medians."""
    return [
        {
            **dict(zip(("target", "contender", "phase"), key, strict=True)),
            "seconds": [round(each, 3) for each in seconds],
            "cpu_seconds": [round(each, 2) for each in figures.cpu[key]],
            "server_cpu_seconds": [round(each, 2) for each in figures.server_cpu[key]],
            "wal_bytes": figures.wal[key],
            "rows_touched": figures.touched.get(key),
            "steps": figures.steps.get(key, {}),
        }
        for key, seconds in figures.seconds.items()
    ]


def goals(figures: Figures, peaks: Mapping[int, float], *, timed: bool) -> list[Goal]:
    """What was promised, and how it stands.

    The limit is the script on a table as anybody creates it; the first load of ours is into the table
    that we create. The re-run is judged on the default table, for both layouts see the times.
    """
    median = figures.median
    found: list[Goal] = [("rows touched by a re-run", sum(figures.touched.values()), 0)]
    if timed:
        first = median("default", "ours", "first")
        found += [
            (
                "first load of our table ÷ limit",
                median("ours", "ours", "first") / median("default", "limit", "first"),
                1.15,
            ),
            ("re-run ÷ first load", median("default", "ours", "rerun") / first, 0.6),
            ("skip_unchanged ÷ first load", median("default", "ours", "skip") / first, 0.1),
        ]
    if peaks:
        small, big = peaks.values()
        found.append((f"memory for {max(peaks):,} MB ÷ for {min(peaks):,} MB", big / small, 1.1))
    return found


def times(figures: Figures) -> Table:
    table = Table(title="Whole processes, medians (fastest)", title_justify="left", box=SIMPLE_HEAD)
    for name in ("target", "load", "limit s", "ours s", "ours ÷ limit", "÷ our first", "CPU limit", "ours"):
        table.add_column(name, justify="left" if name in ("target", "load") else "right")
    for target in dict.fromkeys(key[0] for key in figures.seconds):
        first = _both(figures.seconds, target, "ours", "first")
        for phase in ("first", "rerun", "skip"):
            theirs, mine = (_both(figures.seconds, target, contender, phase) for contender in ("limit", "ours"))
            cpu = (_both(figures.cpu, target, contender, phase) for contender in ("limit", "ours"))
            ratios = _ratio(mine, theirs), _ratio(mine, first)
            table.add_row(target, phase, _shown(theirs), _shown(mine), *ratios, *map(_shown, cpu))
        table.add_section()
    return table


Pair = tuple[float, float] | None


def _both(turns: Mapping[Key, list[float]], *key: str) -> Pair:
    found = turns.get(key)
    return (statistics.median(found), min(found)) if found else None


def _shown(pair: Pair) -> str:
    return f"{pair[0]:.2f} ({pair[1]:.2f})" if pair else ""


def _ratio(ours: Pair, other: Pair) -> str:
    return _shown((ours[0] / other[0], ours[1] / other[1])) if ours and other else ""


def reruns(figures: Figures) -> Table:
    table = Table(title="What ours left behind, medians", title_justify="left", box=SIMPLE_HEAD)
    for name in ("target", "load", "WAL MB", "rows touched", "land s", "stage_merge s", "validate s"):
        table.add_column(name, justify="left" if name in ("target", "load") else "right")
    for key, steps in figures.steps.items():
        wal = sorted(figures.wal[key])[len(figures.wal[key]) // 2] / 1e6
        spent = (f"{steps[step]:.2f}" if step in steps else "" for step in ("land", "stage_merge", "validate"))
        table.add_row(key[0], key[2], f"{wal:.1f}", str(figures.touched.get(key, "")), *spent)
    return table


def judged(found: list[Goal]) -> Table:
    table = Table(title="Goals", title_justify="left", box=SIMPLE_HEAD)
    for name in ("", "what", "figure", "at most"):
        table.add_column(name, justify="right" if name in ("figure", "at most") else "left")
    for what, figure, most in found:
        table.add_row("[green]✓[/]" if figure <= most else "[bold red]✗[/]", what, f"{figure:.3g}", f"{most:g}")
    return table


def facts(warehouse: Warehouse, load_before: float, **sizes: Any) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "machine": f"{cpu()}, {os.cpu_count()} CPUs, {platform.system()} {platform.machine()}",
        "load_average": [load_before, load_average()],
        "postgres": warehouse.facts(),
        **sizes,
    }


def commit() -> str:
    """The version under test; empty outside a clone."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()


def cpu() -> str:
    """The processor's name, where the system tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def load_average() -> float:
    """How busy the machine was, the last minute."""
    return round(os.getloadavg()[0], 2)

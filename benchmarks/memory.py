"""How much memory a load needs: the same spec, a small file and one ten times as big, into a table made for it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import contenders
import report
from measure import PARTITION
from warehouse import BENCH, Warehouse
from workload import write_new


def peaks(warehouse: Warehouse, folder: Path, sizes: Sequence[int]) -> dict[int, float]:
    """Peak memory of ``run`` in MB, by the file's size in MB."""
    found: dict[int, float] = {}
    for size in sizes:
        shutil.rmtree(folder, ignore_errors=True)
        file = folder / "inbox" / PARTITION / "orders.csv"
        file.parent.mkdir(parents=True)
        write_new(file, size)
        warehouse.create(BENCH)
        run = contenders.ours(warehouse.dsn(), PARTITION, folder)
        found[size] = run.peak_kb / 1024
        report.say(f"memory: a file of {size:,} MB, {run.seconds:.0f} s, at most {found[size]:.1f} MB")
    shutil.rmtree(folder)
    warehouse.create(BENCH)
    return found if all(found.values()) else {}

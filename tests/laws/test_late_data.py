"""Whatever comes late, and whatever happens to the runs, the table ends as one load of everything would leave it.

``make late-data`` tries 10,000 seeded schedules; ``make test`` a few of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_idempotent.testing.draw import Draw
from tests.laws.late_world import LateWorld, Mode, Schedules
from tests.postgres_fixtures import DRIVERS, opening

SCHEDULES = int(os.environ.get("AIRFLOW_IDEMPOTENT_LATE_SCHEDULES", "100"))
WORLD = 200
"""Schedules that share a source, and what goes wrong with its runs."""
MODES: tuple[Mode, ...] = ("watermark", "lookback", "numbers")
WORLDS = max(len(MODES), SCHEDULES // WORLD)


def played(database: str, folder: Path, number: int, mode: Mode) -> tuple[LateWorld, Schedules]:
    """A world of seeded schedules after its last run."""
    schedules = Schedules()
    for place in range(SCHEDULES // WORLDS):
        schedules.add(number * (SCHEDULES // WORLDS) + place, mode)
    with opening(DRIVERS[0], database) as connect:
        world = LateWorld(connect, folder, f"late_{number}", mode, schedules)
        world.play(Draw(f"runs {number}"))
        assert world.lost_and_duplicated() == (0, 0), f"world {number}"
        assert world.differs_from_full_load() == [], f"world {number}"
        world.close()
    return world, schedules


@pytest.mark.parametrize("number", range(WORLDS))
def test_no_row_is_lost_and_none_is_there_twice(database: str, tmp_path: Path, number: int) -> None:
    world, schedules = played(database, tmp_path, number, MODES[number % len(MODES)])

    assert len(schedules.right) > SCHEDULES // WORLDS * 15
    assert any(receipt.effects.unchanged for receipt in world.receipts), "no batch overlapped another"
    if world.mode == "lookback":
        assert any(receipt.replayed for receipt in world.receipts), "no partition was left alone"
        assert any(receipt.measure.late_rows for receipt in world.receipts), "nothing came late"

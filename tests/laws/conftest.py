"""What the laws share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.laws.world import World
from tests.postgres_fixtures import DRIVERS, opening


@pytest.fixture(params=DRIVERS)
def world(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[World]:
    """A database and a landing folder, by each driver."""
    with opening(request.param, database) as connect:
        yield World(connect, tmp_path)


@pytest.fixture
def world_once(database: str, tmp_path: Path) -> Iterator[World]:
    """The same by one driver only."""
    with opening(DRIVERS[0], database) as connect:
        yield World(connect, tmp_path)

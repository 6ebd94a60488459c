"""What tests of the engine share."""

from __future__ import annotations

import pytest

from tests.loading import Warehouse
from tests.postgres_fixtures import Connect


@pytest.fixture
def warehouse(connect: Connect) -> Warehouse:
    """An empty database, once by each driver."""
    return Warehouse(connect)

"""A store in an empty folder, one partition, and files to land."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_idempotent.landing.store import BatchStore

WriteSource = Callable[..., Path]


@pytest.fixture
def store(tmp_path: Path) -> BatchStore:
    return BatchStore(tmp_path / "raw")


@pytest.fixture
def write_source(tmp_path: Path) -> WriteSource:
    """Write a source file and give its path."""

    def write(content: bytes | str, name: str = "orders.csv") -> Path:
        path = tmp_path / "inbox" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write

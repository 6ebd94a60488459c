"""Fixtures of the command line: run a command in this process, in a folder with a spec and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.cli.main import main
from tests.orders_folder import make_folder


@dataclass(frozen=True)
class Answer:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Answer]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process."""

    def run(*words: str) -> Answer:
        code = main(words)
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a spec and files, and work in it; no database is named."""
    monkeypatch.chdir(make_folder(tmp_path))
    for name in ("AIRFLOW_IDEMPOTENT_DSN", "AIRFLOW_IDEMPOTENT_SOURCE_DSN", "AIRFLOW_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path

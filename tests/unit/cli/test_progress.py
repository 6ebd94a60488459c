"""Progress: nothing for short work, a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import sys
import time

import pytest

from airflow_idempotent.cli import progress
from airflow_idempotent.cli.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("a.b", "2025-05-01") as bar:
        bar("land", 10, 100, 0)

    assert capsys.readouterr().err == ""


def test_long_work_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0)
    with Bar("a.b", "2025-05-01") as bar:
        bar("land", 1234, 2_500_000, 0)
        bar("stage_merge", 0, 2_000_000, 2_500_000)
        bar("validate", 0, 0, 0)
        bar.count("removing", 1_500, 6_000)

    assert capsys.readouterr().err.splitlines() == [
        "a.b 2025-05-01 land: 1,234 rows, 2.5 MB",
        "a.b 2025-05-01 stage_merge: 2.0 MB of 2.5 MB (80 %)",
        "a.b 2025-05-01 validate",
        "a.b 2025-05-01 removing: 1,500 rows of 6,000 (25 %)",
    ]


def test_silence_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0)
    with Bar("a.b", "2025-05-01", silent=True) as bar:
        bar("land", 1234, 2_500_000, 0)

    assert capsys.readouterr().err == ""


def test_a_bar_appears_on_a_terminal_even_when_nothing_more_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    with Bar("a.b", "2025-05-01") as bar:
        bar("stage_merge, writing", 0, 0, 0)
        time.sleep(0.5)

    assert "a.b 2025-05-01 stage_merge, writing" in terminal.getvalue()

"""Pages with transcripts are typed again: what they show is what the commands say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_idempotent.testing.postgres import postgres_bin

pytestmark = pytest.mark.cli

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "cli.md",
    "how-to/add-a-column.md",
    "how-to/change-a-metric.md",
    "how-to/change-the-key.md",
    "how-to/compare.md",
    "how-to/deduplicate.md",
    "how-to/drift.md",
    "how-to/features.md",
    "how-to/prove.md",
    "how-to/snapshot-by-swap.md",
    "how-to/swap.md",
)
FILE = re.compile(r'```\w+ title="([^"]+)"\n(.*?)```', re.DOTALL)
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
# What differs from run to run, and what stands for it on the page.
VOLATILE = (
    (r"\d+\.\d s\b", "0.1 s"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?=$|;|  |\.$|\. )", "2025-05-02 06:00:00"),
    (r"\b\d+ ms\b", "1 ms"),
    (r"\d+\.\d\ds\b", "0.10s"),
    # How often a load can be cut off, and how many are needed to, depends on how it is done.
    (r"\b\d[\d,]* moments\b", "126 moments"),
    (r"\b\d[\d,]* loads\b", "76 loads"),
    (r"\b[0-9a-f]{64}\b", "a746443fa8ac5240584f1bb7454d01a0f97b483fc71738d36b7c076640b41bf5"),
)


# Told by what is slow; on a busy machine that may be anything.
PROGRESS = re.compile(r"\S+ prove \w+: \d+ of \d+ \(\d+ %\)|\S+ \S+ (land|stage_merge|validate)(: .+)?")


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> Path:
    return DOCS / request.param


@pytest.fixture
def shell(page: Path, tmp_path: Path, database: str):
    for name, text in FILE.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    programs = {
        "airflow-idempotent": f'{sys.executable} -m airflow_idempotent "$@"',
        "python": f'{sys.executable} "$@"',
        "pytest": f'{sys.executable} -m pytest -p no:cacheprovider "$@"',
        "psql": f'{postgres_bin() / "psql"} --no-psqlrc "$AIRFLOW_IDEMPOTENT_DSN" "$@"',
    }
    for name, command in programs.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nexec {command}\n")
        program.chmod(0o755)
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"AIRFLOW_IDEMPOTENT_DSN": database, "PYTHONPATH": root, "COLUMNS": "100"}
    environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"
    environment.pop("PYTEST_ADDOPTS", None)  # of who runs these tests, not of who follows the page

    def run(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return "\n".join(settled(line) for line in done.stdout.splitlines() if not PROGRESS.fullmatch(line))

    return run


def settled(line: str) -> str:
    for pattern, constant in VOLATILE:
        line = re.sub(pattern, constant, line)
    return line.rstrip()


def typed(console: str) -> Iterator[str]:
    """The commands of a transcript."""
    yield from (line.removeprefix("$ ") for line in console.splitlines() if line.startswith("$ "))


def test_the_page_shows_what_the_commands_say(page: Path, shell, request: pytest.FixtureRequest) -> None:
    def again(found: re.Match[str]) -> str:
        answers = ((line, shell(line)) for line in typed(found[0]))
        return "".join(f"$ {line}\n" + (f"{answer}\n" if answer else "") for line, answer in answers)

    text = page.read_text(encoding="utf-8")
    expected = CONSOLE.sub(again, text)
    if request.config.getoption("--update-golden"):
        page.write_text(expected, encoding="utf-8")
        return

    assert text == expected, "if meant: pytest tests/postgres/test_cli_page.py --update-golden"

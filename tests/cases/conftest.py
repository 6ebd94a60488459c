"""Parametrises over the cases of the files that ``--cases`` names, and prints how each went."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import environment  # noqa: F401, before anything imports Airflow
from tests.cases.case import OWN, Case, load_cases
from tests.cases.support import support_of
from tests.cases.verdict import Result, Status, summary

RESULTS = pytest.StashKey[dict[str, Result]]()


def case_files(config: pytest.Config) -> list[Path]:
    """The files named on the command line, else our own."""
    return [Path(path) for path in config.getoption("cases") or OWN]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = [case for path in case_files(metafunc.config) for case in load_cases(path)]
        supported = [case for case in cases if support_of(case).supported]
        metafunc.parametrize("case", supported, ids=[case.id for case in supported])


@pytest.fixture
def results(request: pytest.FixtureRequest) -> dict[str, Result]:
    """Give the place where results are kept for the summary."""
    return request.config.stash.setdefault(RESULTS, {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash.get(RESULTS, {})
    if not found:
        return
    terminalreporter.section("cases")
    for path in case_files(config):
        for line in summary([_result(case, found) for case in load_cases(path)]):
            terminalreporter.write_line(line)


def _result(case: Case, found: dict[str, Result]) -> Result:
    """How a case went; those that were deselected did not go at all."""
    support = support_of(case)
    unknown = support.reason if not support.supported else "not selected"
    return found.get(str(case)) or Result(case, Status.NOT_YET, unknown)

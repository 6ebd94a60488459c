"""The acceptance cases: every one whose steps exist holds, and the others are known by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.case import Case, load_cases, own_cases
from tests.cases.runner import run_case
from tests.cases.support import support_of
from tests.cases.unsupported import LEFT_OUT, NOT_YET
from tests.cases.verdict import Result, Status


@pytest.mark.filterwarnings("ignore:UPath 'bucket'")
def test_a_case_holds(case: Case, database: str, tmp_path: Path, results: dict[str, Result]) -> None:
    results[str(case)] = result = run_case(case, database, tmp_path)

    allowed = {Status.PASS} if own_cases().get(case.id) == case else {Status.PASS, Status.NOT_YET}
    assert result.status in allowed, result.reason


def test_what_is_not_supported_yet_is_known_and_why() -> None:
    found = {case.id: support_of(case) for case in own_cases().values()}

    assert {name: item.reason for name, item in found.items() if not item.supported} == NOT_YET
    assert {name: item.reason for name, item in found.items() if item.supported and item.reason} == LEFT_OUT


# --- the runner itself -----------------------------------------------------------------------------

TEMPLATE = """
format: 1
cases:
- id: Z01
  title: of another file
  setup:
    sql: create table tgt(id int primary key, v text); insert into tgt values (1, 'old');
    files: {in.csv: "id,v\\n1,new\\n"}
  operation:
    - {op: stage_merge, mode: merge, target: tgt, file: in.csv, keys: [id]}
  expect:
    outcome: ok
    checks:
      - {sql: "select id, v from tgt", rows: [["1", "new"]]}
"""


def run_text(text: str, database: str, folder: Path) -> Result:
    file = folder / "other.yaml"
    file.write_text(text)
    [case] = load_cases(file)
    return run_case(case, database, folder)


def test_a_file_of_somebody_else_is_run(database: str, tmp_path: Path) -> None:
    assert run_text(TEMPLATE, database, tmp_path).status is Status.PASS


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('[["1", "new"]]', '[["1", "other"]]', "select id, v from tgt"),
        ("outcome: ok", "outcome: fail", "fail was expected, it was ok"),
        ("keys: [id]", "keys: [no]", "ok was expected, it was fail"),
        ("keys: [id]}", "keys: [id], expect: skip}", "skip was expected, it was ok"),
        ("primary key", "default 1 + 'x'", "invalid input syntax"),
        ("insert", "create trigger t before update on tgt execute function no(); insert", "no()"),
    ],
)
def test_a_case_that_does_not_hold_fails(before: str, after: str, reason: str, database: str, tmp_path: Path) -> None:
    result = run_text(TEMPLATE.replace(before, after), database, tmp_path)

    assert result.status is Status.FAIL
    assert reason in result.reason


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("op: stage_merge", "op: teleport", "operation 'teleport'"),
        ("mode: merge", "mode: guess", "strategy guess"),
        ("keys: [id]", "keys: [id], colour: red", "stage_merge: colour"),
        ("keys: [id]", "keys: [id], fault: the sky falls", "fault 'the sky falls'"),
        ("keys: [id]", "keys: [id], partition: {column: d, start: 2024-01-01, end: 2024-01-03}", "is not one hour"),
    ],
)
def test_a_step_that_does_not_exist_is_told_and_not_run(
    before: str, after: str, reason: str, database: str, tmp_path: Path
) -> None:
    result = run_text(TEMPLATE.replace(before, after), database, tmp_path)

    assert result.status is Status.NOT_YET
    assert reason in result.reason


def test_what_comes_before_such_a_step_is_run(database: str, tmp_path: Path) -> None:
    later = "keys: [id]}\n    - {op: rollback, to: 1}"
    result = run_text(TEMPLATE.replace("keys: [id]}", later), database, tmp_path)

    assert (result.status, result.reason) == (Status.PASS, "swap: issue 5")

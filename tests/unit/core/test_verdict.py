"""Which results close the gate."""

from __future__ import annotations

import pytest

from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict, closes_gate


@pytest.mark.parametrize(
    ("verdict", "closed"),
    [(Verdict.PASSED, False), (Verdict.WARNED, False), (Verdict.NOT_EVALUATED, False), (Verdict.FAILED, True)],
)
def test_only_a_failure_closes_the_gate(verdict: Verdict, closed: bool) -> None:
    assert bool(closes_gate((CheckResult("unique(a)", Severity.ERROR, verdict),))) is closed


def test_a_failure_is_one_line_with_examples() -> None:
    failed = CheckResult("unique(a)", Severity.ERROR, Verdict.FAILED, 2, 9, "2 keys repeated", ("17", "23"))

    assert closes_gate((failed,)) == ("unique(a): 2 keys repeated, e.g. 17, 23",)

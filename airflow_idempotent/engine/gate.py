"""Checks asked of rows that are there: in staging before they are published, in the target afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from airflow_idempotent.checks import Check, Unique
from airflow_idempotent.checks.check import Answer, Inquiry, Question
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.core.verdict import CheckResult, Verdict
from airflow_idempotent.engine.refusals import is_driver_error, reason, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.transform import OF_THE_QUERY
from airflow_idempotent.errors import CheckQueryError
from airflow_idempotent.sql.checks import (
    SAMPLES,
    Place,
    counted_keys,
    distinct_keys,
    filtered,
    question,
    read_shared,
    recomputing,
    repeated_keys,
    shared_scan,
    violations,
)
from airflow_idempotent.sql.transform import ONLY_READ, WRITE_AGAIN

NO_ROWS = "no rows"
LONGEST_VALUE = 200


def evaluate(session: Session, checks: Sequence[Check], place: Place, facts: Facts) -> tuple[CheckResult, ...]:
    """Every check's verdict on the rows: two shared scans while keys are unique, then queries of their own.

    Nothing can be written by any of them. Over no rows only their number can be judged. A check that fails has its
    rows looked up, too.
    """
    if not checks:
        return ()
    for statement in ONLY_READ:
        session.execute(statement)
    results = _evaluated(session, checks, place, facts)
    session.execute(WRITE_AGAIN)
    return results


def _evaluated(session: Session, checks: Sequence[Check], place: Place, facts: Facts) -> tuple[CheckResult, ...]:
    with _blaming(checks, facts):
        [row] = session.query(shared_scan(checks, place, facts))
        seen = read_shared(checks, row, facts)
        repeated = _repeated(session, checks, place, seen)
    results = []
    for check, shared in zip(checks, seen, strict=True):
        if not shared.rows and not check.counts_rows:
            result, own = check.not_evaluated(NO_ROWS), None
        elif inquiry := check.inquire(filtered(check, place.rows), shared):
            with _blaming([check], facts):
                result, own = _inquire(session, inquiry, place, facts)
        elif isinstance(check, Unique):
            counts = repeated.get(id(check))
            result = check.judge(counts) if counts else check.proven(shared.rows, place.proof(check))
            own = None
        else:
            result, own = check.judge(shared), None
        result = replace(result, query=result.query or recomputing(check, place, facts, own))
        results.append(_with_rows(session, check, result, place, facts))
    return tuple(results)


@contextmanager
def _blaming(checks: Sequence[Check], facts: Facts) -> Iterator[None]:
    """A query that the server refuses is told with the checks that asked it.

    Raises:
        CheckQueryError: it was refused for what it says, or for the rows it read.
    """
    try:
        yield
    except Exception as error:
        if not is_driver_error(error) or not sqlstate(error).startswith(OF_THE_QUERY):
            raise
        where = {"table": str(facts.shape.relation), "partition": facts.partition.key}
        labels = tuple(check.label for check in checks)
        raise CheckQueryError(**where, checks=labels, reason=reason(error), published=facts.published) from error


def _repeated(session: Session, checks: Sequence[Check], place: Place, seen: Sequence[Seen]) -> dict[int, Seen]:
    """How many keys repeat, and how many of those hold NULL, for each check of a key that is not proven."""
    keys = counted_keys(checks, place) if any(item.rows for item in seen) else []
    counts = {id(check): (0, 0) for check in keys}
    if scan := distinct_keys(keys, place):
        [numbers] = session.query(scan)
        pairs = zip(keys, numbers[::2], numbers[1::2], strict=True)
        keys = [check for check, rows, distinct in pairs if rows != distinct]
    if scan := repeated_keys(keys, place):
        [numbers] = session.query(scan)
        triples = zip(keys, numbers[::2], numbers[1::2], strict=True)
        counts |= {id(check): (repeated, with_null) for check, repeated, with_null in triples}
    return {
        id(check): replace(item, values=counts[id(check)])
        for check, item in zip(checks, seen, strict=True)
        if id(check) in counts
    }


def _inquire(session: Session, inquiry: Inquiry, place: Place, facts: Facts) -> tuple[CheckResult, Question | None]:
    """Ask what the check wants to know, question by question; its verdict, and the question it rests upon, if any."""
    answer: Answer | None = None
    asked: Question | None = None
    try:
        while True:
            asked = inquiry.send(answer) if answer is not None else next(inquiry)
            answer = session.query(question(asked, place, facts))
    except StopIteration as end:
        result: CheckResult = end.value
        return result, asked if asked and asked.lasting else None


def _with_rows(session: Session, check: Check, result: CheckResult, place: Place, facts: Facts) -> CheckResult:
    """A broken check shows a few of the values that break it, and keeps whole rows where it is asked to."""
    if result.verdict not in (Verdict.FAILED, Verdict.WARNED):
        return result
    whole = bool(check.stored_rows)
    statement = violations(check, place, facts, max(SAMPLES, check.stored_rows), whole=whole)
    if statement is None:
        return result
    found = session.query(statement)
    samples = tuple(dict.fromkeys(_sample(row[:-1] if whole and len(row) > 1 else row) for row in found[:SAMPLES]))
    failures = tuple(row[-1] for row in found[: check.stored_rows]) if whole else ()
    return replace(result, samples=samples, failures=failures)


def _sample(values: Sequence[Any]) -> str:
    return "(" + ", ".join(map(_shown, values)) + ")" if len(values) > 1 else _shown(values[0])


def _shown(value: Any) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"

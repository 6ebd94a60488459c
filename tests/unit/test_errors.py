"""Every error says what was not done and what to do next, in one form, wherever it is shown."""

from __future__ import annotations

import pickle
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from airflow_idempotent import errors
from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict
from airflow_idempotent.errors import (
    GateClosedError,
    IdempotentError,
    NoPartitionError,
    OutOfRangeError,
    SpecError,
    TargetMissingError,
    UsageError,
    facts,
)

ERRORS = sorted(
    (item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, IdempotentError)),
    key=lambda kind: kind.__name__,
)
CONCRETE = [kind for kind in ERRORS if kind is not IdempotentError]
RUNBOOK = (Path(__file__).parents[2] / "docs/runbook.md").read_text(encoding="utf-8")

# A plausible fact for every field, by its name or else by its type.
BY_NAME: dict[str, Any] = {
    "table": "public.orders",
    "partition": "2025-05-01",
    "file": "orders.csv",
    "line": 17,
    "batch_id": "20250501_01",
    "problems": (("version", "unknown option"), ("table", "required")),
    "command": "airflow-idempotent run",
    "source": "/inbox/orders/*.csv",
    "reason": "it cannot be read",
    "sqlstate": "42501",
}
BY_TYPE: dict[Any, Any] = {
    str: "text",
    int: 3,
    str | None: "amount",
    int | None: 17,
    bool: True,
    float: 0.1,
    tuple[str, ...]: ("one", "two"),
    tuple[tuple[str, int], ...]: (("order_id", 3),),
    tuple[tuple[str | None, int], ...]: ((None, 3), ("T", 1)),
    tuple[tuple[str, str, int], ...]: (("amount", "numeric(12,2)", 3),),
    tuple[tuple[str, str], ...]: (("version", "unknown option"),),
    tuple[CheckResult, ...]: (CheckResult("unique(order_id)", Severity.ERROR, Verdict.FAILED, 2, 9),),
}


def example(kind: type[IdempotentError], *, everything: bool) -> IdempotentError:
    """An error of the kind, with all its facts or only with those that it must have."""
    types = get_type_hints(kind, localns={"CheckResult": CheckResult})
    given = {}
    for field in fields(kind):
        if everything or field.default is MISSING:
            fits = not (field.name == "problems" and types[field.name] == tuple[str, ...])
            given[field.name] = BY_NAME[field.name] if field.name in BY_NAME and fits else BY_TYPE[types[field.name]]
    return kind(**given)


def all_but(one: type[IdempotentError]) -> list[type[IdempotentError]]:
    return [kind for kind in CONCRETE if kind is not one]


every_error = pytest.mark.parametrize("kind", CONCRETE, ids=lambda kind: kind.__name__)
with_all_facts_or_few = pytest.mark.parametrize("everything", [True, False], ids=["all facts", "few facts"])


@every_error
@with_all_facts_or_few
def test_the_headline_is_one_line_that_begins_with_its_subject(kind: type[IdempotentError], everything: bool) -> None:
    error = example(kind, everything=everything)
    subject = next(str(getattr(error, field.name)) for field in fields(kind))

    assert error.headline.splitlines() == [error.headline]
    assert error.headline.startswith(f"{subject}")
    assert error.headline.endswith((".", ")"))


@every_error
@with_all_facts_or_few
def test_every_error_says_what_to_do_next_in_one_line(kind: type[IdempotentError], everything: bool) -> None:
    error = example(kind, everything=everything)

    assert len(error.next_move.splitlines()) == 1
    assert error.next_move == error.next_move.strip()


@pytest.mark.parametrize("kind", all_but(errors.ConnectionLostError), ids=lambda kind: kind.__name__)
def test_a_headline_says_what_was_left_as_it_was(kind: type[IdempotentError]) -> None:
    """But for a lost connection: whether it committed nobody knows then, its next move says where that is written."""
    said = re.compile(r"\bnothing\b|\bno DAG was built\b|\bno new batch was landed\b|\bnot validated\b")

    assert said.search(example(kind, everything=True).headline.lower().replace("no dag", "no DAG"))


@every_error
@with_all_facts_or_few
def test_the_text_is_headline_details_next_move_and_runbook(kind: type[IdempotentError], everything: bool) -> None:
    error = example(kind, everything=everything)

    assert str(error).splitlines() == [
        error.headline,
        *(f"  - {line}" for line in error.details),
        error.next_move,
        f"Runbook: {error.anchor}",
    ]


@every_error
@with_all_facts_or_few
def test_no_error_shouts_or_apologises(kind: type[IdempotentError], everything: bool) -> None:
    text = str(example(kind, everything=everything))

    assert "Error:" not in text
    assert not re.search(r"\b(sorry|please|oops|unfortunately|apolog|fatal|failed to)\b|!", text, re.IGNORECASE)


@every_error
@with_all_facts_or_few
def test_an_error_survives_a_process_border_with_its_facts(kind: type[IdempotentError], everything: bool) -> None:
    error = example(kind, everything=everything)
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is kind
    assert str(again) == str(error)
    assert facts(again) == facts(error)
    assert again.retryable is error.retryable


@every_error
def test_an_error_can_be_raised_with_notes_and_a_cause(kind: type[IdempotentError]) -> None:
    error = example(kind, everything=False)
    error.add_note("seen on worker 3")

    with pytest.raises(kind) as raised:
        raise error from ValueError("the cause")

    assert isinstance(raised.value.__cause__, ValueError)
    assert len({error, example(kind, everything=False)}) == 2  # as other exceptions: equal only to itself


@every_error
def test_every_error_explains_itself_in_its_docstring(kind: type[IdempotentError]) -> None:
    assert kind.__doc__
    assert not kind.__doc__.startswith(f"{kind.__name__}(")  # what dataclasses write when there is none


# --- the runbook -----------------------------------------------------------------------------------


def paragraph(anchor: str) -> str:
    found = re.search(rf"^### {re.escape(anchor)}\n(.+?)(?=^##|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    assert found, f"docs/runbook.md has no '### {anchor}'"
    return found[1]


@every_error
def test_every_error_has_its_own_paragraph_in_the_runbook(kind: type[IdempotentError]) -> None:
    assert kind.__dict__.get("anchor"), "inherited: give it a paragraph of its own"
    text = paragraph(kind.anchor)

    assert f"`{kind.__name__}" in text
    for part in ("**You see**", "**It means**", "**Data:**", "**Do**", "**Done when**"):
        assert part in " ".join(text.split())


def test_no_two_errors_share_a_paragraph() -> None:
    assert len({kind.anchor for kind in CONCRETE}) == len(CONCRETE)


def test_the_runbook_names_no_error_that_does_not_exist() -> None:
    named = set(re.findall(r"`(\w+Error)\b", RUNBOOK))

    assert named == {kind.__name__ for kind in CONCRETE}


def test_only_what_time_can_heal_is_retryable() -> None:
    assert {kind.__name__ for kind in CONCRETE if kind.retryable} == {
        "ConnectionLostError",
        "FileChangingError",
        "LockTimeoutError",
        "PythonSourceFailedError",
        "RowsChangedError",
        "ServerBusyError",
        "SourceMissingError",
        "SourceUnavailableError",
        "StatementTimeoutError",
        "UnreachableError",
    }


# --- single texts ----------------------------------------------------------------------------------


def test_one_problem_is_counted_as_one() -> None:
    assert SpecError(file="a.yaml", problems=(("", "empty"),)).headline.startswith("a.yaml: 1 problem, ")
    assert SpecError(file="a.yaml", problems=()).headline.startswith("a.yaml: 0 problems, ")


def test_a_problem_without_a_path_is_shown_without_a_colon() -> None:
    assert SpecError(file="a.yaml", problems=(("", "empty"), ("x", "odd"))).details == ["empty", "x: odd"]


def test_a_gate_tells_published_rows_from_refused_ones() -> None:
    gate = {"table": "public.orders", "partition": "2025-05-01", "batch_id": "20250501_01"}
    before = GateClosedError(**gate, failures=("unique(order_id): 2 keys repeated, e.g. 17, 23",))
    after = GateClosedError(**gate, failures=("a", "b"), published=True)

    assert str(before) == (
        "public.orders 2025-05-01: 1 check failed, nothing was published.\n"
        "  - unique(order_id): 2 keys repeated, e.g. 17, 23\n"
        "Fix the source or the check, then clear this task. The landed batch 20250501_01 is kept.\n"
        "Runbook: gate-closed"
    )
    assert after.headline == "public.orders 2025-05-01: 2 checks failed, the rows are published but not validated."


def test_many_partitions_out_of_range_are_not_all_listed() -> None:
    error = OutOfRangeError(table="t", partitions=tuple("abcdefgh"), start_date="2025-01-01", end_date="")

    assert error.details == [*"abcde", "and 3 more"]
    assert "8 partition(s) lie outside [2025-01-01, open)" in error.headline


def test_a_hint_replaces_the_usual_advice() -> None:
    assert UsageError(command="run", reason="no table").next_move == "Look at: run --help"
    assert UsageError(command="run", reason="no table", hint="Name one.").next_move == "Name one."
    assert '"from_date"' in NoPartitionError(table="t").next_move
    assert NoPartitionError(table="t", hint="Name one.").next_move == "Name one."


def test_similar_tables_are_suggested() -> None:
    assert TargetMissingError(table="t", similar=("public.orders",)).details == ["did you mean 'public.orders'?"]


def test_facts_are_plain_values_under_their_names() -> None:
    assert facts(TargetMissingError(table="t", similar=("a",))) == {"table": "t", "similar": ("a",)}

"""What an audit looks at: every partition has its turn, a retry the same ones, and what is open each time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_idempotent.core.audit import Cause, Due, Finding, Report, Sample, choose, is_stale, shown_state

FIRST = datetime(2025, 5, 1, tzinfo=UTC)


def due(number: int, since: datetime, *, mine: bool = False, is_open: bool = False) -> Due:
    start = FIRST + timedelta(days=number)
    return Due(f"{start:%Y-%m-%d}", start, start + timedelta(days=1), number, "b", "s", "c", since, mine, is_open)


@pytest.mark.parametrize(
    ("written", "total", "size"),
    [
        ("10%", 365, 37),
        ("10%", 10, 1),
        ("10%", 3, 1),
        ("100%", 7, 7),
        ("0.5%", 1000, 5),
        (50, 365, 50),
        ("50", 7, 7),
        ("all", 9, 9),
        ("33%", 0, 0),
        (1, 0, 0),
    ],
)
def test_a_sample_is_a_share_a_number_or_all_and_never_none_of_some(written: object, total: int, size: int) -> None:
    assert Sample.parse(written).of(total) == size


@pytest.mark.parametrize("written", ["0", 0, "0%", "101%", "-3", "some", "", "x%", None, True, "nan%"])
def test_what_is_no_sample_is_refused_with_what_is(written: object) -> None:
    with pytest.raises(ValueError, match="write a share like '10%', a number of partitions, or all"):
        Sample.parse(written)


@given(
    total=st.integers(1, 40),
    sample=st.one_of(st.integers(1, 10), st.sampled_from(["10%", "35%", "all"])),
    ages=st.data(),
)
def test_every_partition_has_its_turn_before_any_has_a_second_one(
    total: int, sample: int | str, ages: st.DataObject
) -> None:
    chosen = Sample.parse(sample)
    waits = {n: FIRST + timedelta(hours=ages.draw(st.integers(0, 5))) for n in range(total)}
    seen: list[int] = []
    for audit in range(-(-total // chosen.of(total))):
        taken = choose([due(number, since) for number, since in waits.items()], chosen, seed="orders")
        seen += [item.event_id for item in taken]
        waits |= {item.event_id: FIRST + timedelta(days=audit + 1) for item in taken}

    assert set(seen) == set(range(total))
    assert len(seen) - total < chosen.of(total)


def test_partitions_that_are_added_do_not_keep_the_others_waiting() -> None:
    waits, seen = {0: FIRST}, set()
    for day in range(1, 30):  # two new ones a day, one audited
        waits |= {2 * day: FIRST + timedelta(days=day), 2 * day + 1: FIRST + timedelta(days=day)}
        [taken] = choose([due(number, since) for number, since in waits.items()], Sample(count=1))
        waits[taken.event_id] = FIRST + timedelta(days=day, hours=1)
        seen.add(taken.event_id)

    assert {0, 2, 3, 4, 5} <= seen


def test_what_is_open_is_looked_at_each_time_beside_the_sample() -> None:
    waiting = [due(number, FIRST + timedelta(hours=number), is_open=number == 4) for number in range(6)]

    assert [item.event_id for item in choose(waiting, Sample(count=2))] == [0, 1, 4]


def test_a_retry_of_a_run_begins_with_what_the_run_had() -> None:
    waiting = [due(number, FIRST, mine=number in (3, 5)) for number in range(6)]

    assert [item.event_id for item in choose(waiting, Sample(count=2))] == [3, 5]


def test_equal_waits_are_ordered_by_the_seed_and_by_nothing_else() -> None:
    waiting = [due(number, FIRST) for number in range(20)]

    one, again, other = (
        choose(each, Sample(count=5), seed=seed)
        for each, seed in ((waiting, "a"), (waiting[::-1], "a"), (waiting, "b"))
    )

    assert one == again != other


def test_a_report_groups_what_is_new_by_cause() -> None:
    findings = (
        Finding("t", "1", Cause.TARGET_CHANGED, "x"),
        Finding("t", "2", Cause.TARGET_CHANGED, "y", is_new=False),
        Finding("t", "*", Cause.SCHEMA_CHANGED, "z"),
    )
    report = Report("t", 2, (), findings)

    assert {cause: [item.partition for item in found] for cause, found in report.by_cause().items()} == {
        Cause.TARGET_CHANGED: ["1"],
        Cause.SCHEMA_CHANGED: ["*"],
    }
    assert len(report.by_cause(new=False)[Cause.TARGET_CHANGED]) == 2


@pytest.mark.parametrize(
    ("state", "causes", "shown"),
    [
        ("validated", [], "validated"),
        ("published", ["spec_changed"], "stale"),
        ("validated", ["spec_changed", "target_changed"], "drifted"),
        ("failed", ["target_changed"], "failed"),
    ],
)
def test_what_was_found_outweighs_that_it_was_published(state: str, causes: list[str], shown: str) -> None:
    assert shown_state(state, causes) == shown


def test_only_what_was_loaded_can_be_stale() -> None:
    assert (is_stale("", "new"), is_stale("old", "new"), is_stale("new", "new")) == (False, True, False)

"""Which partitions a run means: one test per row of the table in the design, and its edges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.step import State
from airflow_idempotent.errors import NoPartitionError, OutOfRangeError, RangeError
from airflow_idempotent.plan.resolve import Known, Plan, Reprocess, Run, resolve
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.table import TableSpec
from tests.unit.spec.orders import orders

BERLIN = ZoneInfo("Europe/Berlin")


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


NOW = utc(2025, 5, 10, 6)


def run(run_type: str = "manual", **facts: Any) -> Run:
    return Run(now=NOW, run_type=run_type, **facts)


def interval(start: datetime, end: datetime, run_type: str = "scheduled") -> Run:
    """A run as Airflow makes one for a data interval."""
    return run(run_type, logical_date=start, interval=(start, end))


def ranged(start: datetime, end: datetime, **facts: Any) -> Run:
    return run(from_date=start, to_date=end, **facts)


def keys(plan: Plan) -> list[str]:
    return [item.partition.key for item in plan.partitions]


def reasons(plan: Plan) -> list[str]:
    return [item.reason for item in plan.partitions]


# --- scheduled runs, catch-up, backfill ------------------------------------------------------------


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_scheduled_or_backfill_run_means_its_data_interval(run_type: str) -> None:
    plan = resolve(orders(), interval(utc(2025, 5, 1), utc(2025, 5, 2), run_type))

    assert keys(plan) == ["2025-05-01"]
    assert reasons(plan) == [f"data interval of this {run_type} run"]
    assert (plan.lane, plan.skip_unchanged) == (run_type, False)


def test_a_run_that_catches_up_means_its_interval_and_not_today() -> None:
    plan = resolve(orders(), interval(utc(2025, 1, 1), utc(2025, 1, 2)))

    assert keys(plan) == ["2025-01-01"]
    assert plan.cutoff_ts == NOW


@pytest.mark.parametrize(
    ("options", "start", "end", "found"),
    [
        ({}, utc(2025, 5, 1, 9, 30), utc(2025, 5, 2, 9, 30), ["2025-05-01"]),
        ({"schedule": "@hourly"}, utc(2025, 5, 1, 7), utc(2025, 5, 1, 8), ["2025-05-01T07"]),
        ({"partition_by": {"grain": "day"}}, utc(2025, 5, 1, 7), utc(2025, 5, 1, 8), ["2025-05-01"]),
        ({"schedule": "@weekly"}, utc(2025, 4, 28), utc(2025, 5, 5), ["2025-W18"]),
        ({"schedule": "@monthly"}, utc(2025, 2, 1), utc(2025, 3, 1), ["2025-02"]),
        ({"schedule": "@yearly"}, utc(2025, 1, 1), utc(2026, 1, 1), ["2025"]),
        ({"schedule": "P2D"}, utc(2025, 4, 30), utc(2025, 5, 2), ["2025-04-30", "2025-05-01"]),
    ],
)
def test_an_interval_may_be_longer_shorter_or_off_the_grid(
    options: dict[str, Any], start: datetime, end: datetime, found: list[str]
) -> None:
    assert keys(resolve(orders(**options), interval(start, end))) == found


@pytest.mark.parametrize("day", ["2025-03-30", "2025-10-26"])
def test_a_day_on_which_the_clock_is_moved_is_one_partition(day: str) -> None:
    midnight = datetime.fromisoformat(day)
    start, end = (moment.replace(tzinfo=BERLIN).astimezone(UTC) for moment in (midnight, midnight + timedelta(days=1)))
    plan = resolve(orders(timezone="Europe/Berlin"), interval(start, end))

    assert keys(plan) == [day]
    assert plan.partitions[0].partition.end - plan.partitions[0].partition.start == end - start


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_an_empty_interval_is_refused_and_never_taken_for_a_day(run_type: str) -> None:
    with pytest.raises(NoPartitionError, match="interval of this run is empty"):
        resolve(orders(), interval(utc(2025, 5, 2), utc(2025, 5, 2), run_type))


def test_a_manual_run_adopted_by_a_backfill_means_its_logical_date() -> None:
    """Airflow keeps the interval that the manual run had: the one before its logical date."""
    adopted = run("backfill", logical_date=utc(2025, 5, 2), interval=(utc(2025, 5, 1), utc(2025, 5, 2)))
    plan = resolve(orders(), adopted)

    assert keys(plan) == ["2025-05-02"]
    assert reasons(plan) == ["logical date of this backfill run"]


def test_the_range_of_a_table_bounds_a_backfill_too() -> None:
    with pytest.raises(OutOfRangeError) as refused:
        resolve(orders(), interval(utc(2024, 12, 31), utc(2025, 1, 1), "backfill"))

    assert refused.value.partitions == ("2024-12-31",)
    assert "[2025-01-01T00:00:00+00:00, open)" in refused.value.headline


# --- lookback --------------------------------------------------------------------------------------


def test_a_scheduled_run_looks_back_oldest_first() -> None:
    plan = resolve(orders(late_data={"lookback": 2}), interval(utc(2025, 5, 1), utc(2025, 5, 2)))

    assert keys(plan) == ["2025-04-29", "2025-04-30", "2025-05-01"]
    assert reasons(plan)[:2] == ["lookback: late data, rewritten only if its source changed"] * 2
    assert [pointer["skip_unchanged"] for pointer in plan.as_pointers()] == [True, True, False]


def test_looking_back_ends_at_the_start_of_the_table() -> None:
    plan = resolve(orders(late_data={"lookback": 5}), interval(utc(2025, 1, 2), utc(2025, 1, 3)))

    assert keys(plan) == ["2025-01-01", "2025-01-02"]


@pytest.mark.parametrize(
    "other",
    [
        interval(utc(2025, 5, 1), utc(2025, 5, 2), "backfill"),
        run(logical_date=utc(2025, 5, 1)),
        run(partition_key="2025-05-01"),
        ranged(utc(2025, 5, 1), utc(2025, 5, 2)),
    ],
)
def test_only_scheduled_runs_look_back(other: Run) -> None:
    assert keys(resolve(orders(late_data={"lookback": 2}), other)) == ["2025-05-01"]


@given(
    st.integers(0, 20 * 365 * 24 * 60).map(lambda minutes: utc(2010, 1, 1) + timedelta(minutes=minutes)),
    st.sampled_from(["hour", "day", "week", "month", "year"]),
    st.sampled_from(["UTC", "Europe/Berlin", "Africa/Cairo", "America/Havana", "Australia/Lord_Howe", "Pacific/Apia"]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_looked_back_at_lies_directly_before(start: datetime, grain: str, zone: str) -> None:
    spec = orders(start_date="1990-01-01", timezone=zone, partition_by={"grain": grain}, late_data={"lookback": 3})
    found = [item.partition for item in resolve(spec, interval(start, start + timedelta(hours=1))).partitions]

    assert found[3] == spec.grain.partition(start, zone)
    assert all(before.end == after.start for before, after in pairwise(found))


# --- ranges ----------------------------------------------------------------------------------------


def test_a_range_is_half_open() -> None:
    plan = resolve(orders(), ranged(utc(2025, 5, 1), utc(2025, 5, 4)))

    assert keys(plan) == ["2025-05-01", "2025-05-02", "2025-05-03"]
    assert set(reasons(plan)) == {"asked for by from_date and to_date"}
    assert plan.lane == "manual"


def test_a_range_is_cut_by_the_calendar_of_the_table() -> None:
    start, end = datetime(2025, 3, 29, tzinfo=BERLIN), datetime(2025, 4, 1, tzinfo=BERLIN)

    days = keys(resolve(orders(timezone="Europe/Berlin"), ranged(start, end)))

    assert days == ["2025-03-29", "2025-03-30", "2025-03-31"]
    assert keys(resolve(orders(schedule="@monthly"), ranged(start, end))) == ["2025-03"]


def test_a_range_wins_over_interval_logical_date_and_partition_key() -> None:
    plan = resolve(
        orders(),
        ranged(
            utc(2025, 5, 1),
            utc(2025, 5, 2),
            logical_date=utc(2025, 3, 1),
            interval=(utc(2025, 3, 1), utc(2025, 3, 2)),
            partition_key="2025-02-01",
        ),
    )

    assert keys(plan) == ["2025-05-01"]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"from_date": utc(2025, 5, 1)}, "from_date and to_date belong together"),
        ({"to_date": utc(2025, 5, 1)}, "from_date and to_date belong together"),
        ({"from_date": utc(2025, 5, 1), "to_date": utc(2025, 5, 1)}, "from_date must be before to_date"),
        ({"from_date": utc(2025, 5, 2), "to_date": utc(2025, 5, 1)}, "from_date must be before to_date"),
        (
            {"from_date": utc(2025, 5, 1), "to_date": utc(2025, 5, 2), "run_type": "backfill"},
            "each run of a backfill has its own interval; leave both out",
        ),
    ],
)
def test_what_is_no_range_is_refused_even_with_a_logical_date(facts: dict[str, Any], reason: str) -> None:
    with pytest.raises(RangeError) as refused:
        resolve(orders(), run(**{"logical_date": utc(2025, 5, 1), **facts}))

    assert refused.value.reason == reason
    assert refused.value.from_date == str(facts.get("from_date", ""))
    assert refused.value.to_date == str(facts.get("to_date", ""))


@pytest.mark.parametrize(
    ("start", "end", "outside"),
    [
        (utc(2024, 12, 30), utc(2025, 1, 2), ("2024-12-30", "2024-12-31")),
        (utc(2025, 6, 30), utc(2025, 7, 3), ("2025-07-01", "2025-07-02")),
        (utc(2025, 7, 1), utc(2025, 7, 2), ("2025-07-01",)),
    ],
)
def test_partitions_outside_the_table_are_refused_with_their_keys(
    start: datetime, end: datetime, outside: tuple[str, ...]
) -> None:
    with pytest.raises(OutOfRangeError) as refused:
        resolve(orders(end_date="2025-07-01"), ranged(start, end))

    assert refused.value.partitions == outside


def test_the_last_partition_before_the_end_is_inside() -> None:
    assert keys(resolve(orders(end_date="2025-07-01"), ranged(utc(2025, 6, 30), utc(2025, 7, 1)))) == ["2025-06-30"]


# --- reprocess -------------------------------------------------------------------------------------

RANGE = {"from_date": utc(2025, 5, 1), "to_date": utc(2025, 5, 9)}
NEVER, BY_THIS_SPEC, BY_ANOTHER = "never", "this", "another"
LEDGER = {  # state, and by which spec its rows were published
    1: (State.PUBLISHED, BY_THIS_SPEC),
    2: (State.VALIDATED, BY_THIS_SPEC),
    3: (State.LANDED, NEVER),
    4: (State.FAILED, NEVER),
    5: (State.REJECTED, BY_THIS_SPEC),
    6: (State.VALIDATED, BY_ANOTHER),
    7: (State.FAILED, BY_ANOTHER),
}
"""By day of May; nothing is known of the 8th."""


def known(spec: TableSpec) -> dict[str, Known]:
    by = {NEVER: "", BY_THIS_SPEC: fingerprint(spec), BY_ANOTHER: fingerprint(spec)[::-1]}
    return {f"2025-05-{day:02d}": Known(state, by[published]) for day, (state, published) in LEDGER.items()}


@pytest.mark.parametrize(
    ("reprocess", "days"),
    [
        (Reprocess.ALL, dict.fromkeys(range(1, 9), "asked for by from_date and to_date")),
        (Reprocess.CHANGED, dict.fromkeys(range(1, 9), "asked for, rewritten only where the source changed")),
        (Reprocess.MISSING, dict.fromkeys([3, 4, 8], "missing")),
        (Reprocess.FAILED, {4: "failed", 5: "rejected", 7: "failed"}),
        (Reprocess.STALE, dict.fromkeys([6, 7], "stale: the spec changed")),
    ],
)
def test_the_ledger_says_which_partitions_of_a_range_are_worked_on(reprocess: Reprocess, days: dict[int, str]) -> None:
    plan = resolve(orders(), run(**RANGE, reprocess=reprocess), known(orders()))

    assert {int(item.partition.key[-2:]): item.reason for item in plan.partitions} == days


def test_without_a_ledger_all_partitions_are_missing() -> None:
    assert len(resolve(orders(), run(**RANGE, reprocess=Reprocess.MISSING)).partitions) == 8
    assert resolve(orders(), run(**RANGE, reprocess=Reprocess.FAILED)).partitions == ()


def test_a_range_outside_the_table_is_refused_whatever_the_ledger_says() -> None:
    with pytest.raises(OutOfRangeError):
        resolve(orders(end_date="2025-05-07"), run(**RANGE, reprocess=Reprocess.STALE), known(orders()))


@pytest.mark.parametrize(
    ("facts", "skip"),
    [
        (RANGE, True),
        (RANGE | {"force": True}, False),
        ({"logical_date": utc(2025, 5, 1)}, False),
        ({"partition_key": "2025-05-01"}, False),
    ],
)
def test_only_a_range_skips_what_is_unchanged_and_not_by_force(facts: dict[str, Any], skip: bool) -> None:
    assert resolve(orders(), run(**facts)).skip_unchanged is skip


@pytest.mark.parametrize(
    ("facts", "forced"),
    [
        ({"partition_key": "2025-05-01"}, False),
        (RANGE, False),
        (RANGE | {"force": True}, True),
        (RANGE | {"reprocess": Reprocess.STALE}, True),
        ({"partition_key": "2025-05-01", "force": True}, True),
    ],
)
def test_what_another_spec_has_published_is_loaded_again_only_when_asked_for(
    facts: dict[str, Any], forced: bool
) -> None:
    published = {"2025-05-01": Known(State.PUBLISHED, "another")}
    pointers = resolve(orders(), run(**facts), published).as_pointers()

    assert pointers
    assert all(pointer.get("force", False) is forced for pointer in pointers)


# --- logical date, partition key, nothing ----------------------------------------------------------


@pytest.mark.parametrize(
    ("logical_date", "key", "reason"),
    [
        (utc(2025, 5, 1), "2025-05-01", "contains the logical date"),
        (utc(2025, 5, 1, 23, 59), "2025-05-01", "contains the logical date"),
        (utc(2025, 5, 9, 12), "2025-05-09", "contains the logical date"),
        (utc(2025, 5, 10), "2025-05-09", "the last closed one, 2025-05-10 is still open"),
        (NOW, "2025-05-09", "the last closed one, 2025-05-10 is still open"),
    ],
)
def test_a_manual_run_means_the_partition_of_its_logical_date_or_the_last_closed_one(
    logical_date: datetime, key: str, reason: str
) -> None:
    plan = resolve(orders(), run(logical_date=logical_date))

    assert (keys(plan), reasons(plan)) == ([key], [reason])


def test_the_interval_that_airflow_infers_for_a_manual_run_is_not_used() -> None:
    inferred = run(logical_date=utc(2025, 5, 5, 12), interval=(utc(2025, 5, 4), utc(2025, 5, 5)))

    assert keys(resolve(orders(), inferred)) == ["2025-05-05"]


@pytest.mark.parametrize(
    ("now", "key"),
    [(utc(2025, 5, 2), "2025-05-01"), (utc(2025, 5, 2) - timedelta(microseconds=1), "2025-04-30")],
)
def test_a_partition_is_closed_at_the_instant_of_its_end(now: datetime, key: str) -> None:
    assert keys(resolve(orders(), Run(now=now, logical_date=utc(2025, 5, 1, 12)))) == [key]


def test_a_day_is_open_until_the_clock_of_its_table_says_otherwise() -> None:
    one_hour_after_midnight_in_berlin = Run(now=utc(2025, 5, 1, 23), logical_date=utc(2025, 5, 1, 12))

    assert keys(resolve(orders(timezone="Europe/Berlin"), one_hour_after_midnight_in_berlin)) == ["2025-05-01"]
    assert keys(resolve(orders(), one_hour_after_midnight_in_berlin)) == ["2025-04-30"]


@pytest.mark.parametrize("run_type", ["manual", "asset_triggered", "asset_materialization"])
def test_a_partition_key_means_that_partition(run_type: str) -> None:
    plan = resolve(orders(), run(run_type, partition_key="2025-05-01", logical_date=utc(2025, 4, 1)))

    assert (keys(plan), reasons(plan), plan.lane) == (["2025-05-01"], ["partition key of this run"], "manual")


@pytest.mark.parametrize("key", ["2025-05", "2025-05-01T00", "orders", "2025-02-29"])
def test_a_key_of_another_kind_is_refused_with_an_example(key: str) -> None:
    with pytest.raises(RangeError, match=f"{key!r} is not a day partition, write it like '2025-05-01'"):
        resolve(orders(), run(partition_key=key))


@pytest.mark.parametrize("facts", [{"logical_date": utc(2024, 5, 1)}, {"partition_key": "2024-05-01"}])
def test_a_single_partition_outside_the_table_is_refused_too(facts: dict[str, Any]) -> None:
    with pytest.raises(OutOfRangeError):
        resolve(orders(), run(**facts))


@pytest.mark.parametrize("run_type", ["manual", "scheduled", "backfill", "asset_triggered"])
def test_a_run_that_says_nothing_is_refused_with_what_to_pass(run_type: str) -> None:
    with pytest.raises(NoPartitionError, match='"from_date": "2025-05-01", "to_date": "2025-05-02"'):
        resolve(orders(), run(run_type))


# --- what is pinned --------------------------------------------------------------------------------


def test_a_plan_pins_the_cutoff_and_the_spec_for_all_its_retries() -> None:
    plan = resolve(orders(), run(logical_date=utc(2025, 5, 1), cutoff_ts=utc(2025, 5, 3)))

    assert plan.as_pointers() == [
        {
            "partition": "2025-05-01",
            "reason": "contains the logical date",
            "spec_fingerprint": fingerprint(orders()),
            "cutoff_ts": "2025-05-03T00:00:00+00:00",
            "cutoff_given": True,
            "lane": "manual",
            "skip_unchanged": False,
        }
    ]


def test_a_plan_is_the_same_whenever_it_is_made_from_the_same_facts() -> None:
    facts = interval(utc(2025, 5, 1), utc(2025, 5, 2))

    assert resolve(orders(), facts) == resolve(orders(), facts)

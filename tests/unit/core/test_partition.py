"""Partitions: calendar arithmetic that must hold in every zone, on every day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.partition import Grain, Partition, is_time

ZONES = [
    "UTC",
    "Africa/Cairo",  # no midnight when the clock is put forward
    "America/Havana",  # midnight twice when it is put back
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",  # put back at 00:01, over midnight, until 2011
    "Antarctica/Troll",  # by two hours
    "Asia/Kathmandu",
    "Asia/Pyongyang",  # by half an hour, over midnight, in 2015
    "Australia/Lord_Howe",  # by half an hour
    "Europe/Berlin",
    "Pacific/Apia",  # without 30 December 2011
]
clock = datetime.fromisoformat  # what a clock on the wall shows: no instant
INSTANTS = st.datetimes(clock("1950-01-01"), clock("2100-01-01"), timezones=st.just(UTC))
zones, grains = st.sampled_from(ZONES), st.sampled_from(list(Grain))
hundred = settings(max_examples=100, deadline=None)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


def hours(partition: Partition) -> float:
    return (partition.end - partition.start) / timedelta(hours=1)


# --- the value -------------------------------------------------------------------------------------


def test_bounds_are_instants_whatever_zone_they_were_given_in() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    local = Partition(datetime(2025, 5, 1, 2, tzinfo=berlin), datetime(2025, 5, 2, 2, tzinfo=berlin), key="local")

    assert local == Partition(utc(2025, 5, 1), utc(2025, 5, 2), key="other")
    assert hash(local) == hash(Partition(utc(2025, 5, 1), utc(2025, 5, 2)))
    assert (local.start.tzinfo, str(local)) == (UTC, "local")


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (clock("2025-05-01"), utc(2025, 5, 2), "need a time zone"),
        (utc(2025, 5, 1), clock("2025-05-02"), "need a time zone"),
        (utc(2025, 5, 1), utc(2025, 5, 1), "empty partition"),
        (utc(2025, 5, 2), utc(2025, 5, 1), "empty partition"),
    ],
)
def test_a_naive_or_empty_slice_is_refused(start: datetime, end: datetime, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Partition(start, end)


def test_a_partition_without_a_key_is_named_by_its_start() -> None:
    assert Partition(utc(2025, 5, 1, 6), utc(2025, 5, 2)).key == "2025-05-01T060000"


@pytest.mark.parametrize(
    ("grain", "key", "compact"),
    [
        (Grain.HOUR, "2025-05-01T07", "20250501T07"),
        (Grain.DAY, "2025-05-01", "20250501"),
        (Grain.WEEK, "2025-W18", "2025W18"),
        (Grain.MONTH, "2025-05", "202505"),
        (Grain.YEAR, "2025", "2025"),
    ],
)
def test_batch_ids_take_the_key_without_punctuation(grain: Grain, key: str, compact: str) -> None:
    assert grain.parse(key).compact == compact


# --- what a column compares ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data_type", "bounds"),
    [
        ("date", (date(2025, 5, 1), date(2025, 5, 2))),
        ("timestamp without time zone", (clock("2025-05-01"), clock("2025-05-02"))),
        ("timestamp(3) without time zone", (clock("2025-05-01"), clock("2025-05-02"))),
        ("TIMESTAMP", (clock("2025-05-01"), clock("2025-05-02"))),
        ("timestamp with time zone", (utc(2025, 4, 30, 22), utc(2025, 5, 1, 22))),
        ("timestamptz(6)", (utc(2025, 4, 30, 22), utc(2025, 5, 1, 22))),
    ],
)
def test_bounds_are_what_a_column_of_that_type_compares(data_type: str, bounds: tuple[object, object]) -> None:
    assert Grain.DAY.parse("2025-05-01", "Europe/Berlin").bounds(data_type) == bounds


def test_a_day_without_midnight_keeps_its_date() -> None:
    first, second = (Grain.DAY.parse(key, "Africa/Cairo").bounds("date") for key in ("2023-04-27", "2023-04-28"))

    assert first == (date(2023, 4, 27), date(2023, 4, 28))
    assert second == (date(2023, 4, 28), date(2023, 4, 29))


@pytest.mark.parametrize(
    ("data_type", "meant"),
    [("date", True), ("timestamptz(3)", True), ("Timestamp", True), ("time", False), ("text", False), ("", False)],
)
def test_only_dates_and_times_of_a_day_can_cut_a_table(data_type: str, meant: bool) -> None:
    assert is_time(data_type) is meant


@pytest.mark.parametrize(
    ("least", "greatest", "inside"),
    [
        ("2025-05-01 00:00:00+02", "2025-05-01 23:59:59.999999+02", True),
        ("2025-05-01 00:00:00+02", "2025-05-02 00:00:00+02", False),
        ("2025-04-30 23:59:59.999999+02", "2025-05-01 12:00:00+02", False),
        ("2025-04-30 22:00:00+00", "2025-04-30 22:00:00+00", True),
        ("-infinity", "2025-05-01 12:00:00+02", False),
        ("2025-05-01 00:00:00+02", "infinity", False),
        ("0044-03-15 00:00:00+00 BC", "2025-05-01 12:00:00+02", False),
    ],
)
def test_values_span_a_partition_or_leave_it(least: str, greatest: str, inside: bool) -> None:
    day = Grain.DAY.parse("2025-05-01", "Europe/Berlin")

    assert day.spans(least, greatest, "timestamp with time zone") is inside


@pytest.mark.parametrize(("greatest", "inside"), [("2025-05-01", True), ("2025-05-02", False)])
def test_dates_span_a_partition_by_the_calendar_of_its_zone(greatest: str, inside: bool) -> None:
    assert Grain.DAY.parse("2025-05-01", "Pacific/Kiritimati").spans("2025-05-01", greatest, "date") is inside


# --- clocks that are moved -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "day", "length"),
    [
        ("Europe/Berlin", "2025-03-29", 24),
        ("Europe/Berlin", "2025-03-30", 23),
        ("Europe/Berlin", "2025-10-26", 25),
        ("America/New_York", "2025-03-09", 23),
        ("America/New_York", "2025-11-02", 25),
        ("Africa/Cairo", "2023-04-28", 23),
        ("America/Sao_Paulo", "2017-10-15", 23),
        ("America/Sao_Paulo", "2018-02-17", 25),
        ("America/Havana", "2025-11-02", 25),
        ("Australia/Lord_Howe", "2025-04-06", 24.5),
        ("Australia/Lord_Howe", "2025-10-05", 23.5),
        ("Antarctica/Troll", "2025-03-30", 22),
        ("Antarctica/Troll", "2025-10-26", 26),
        ("UTC", "2025-03-30", 24),
    ],
)
def test_a_day_is_as_long_as_its_clock_makes_it(zone: str, day: str, length: float) -> None:
    assert hours(Grain.DAY.parse(day, zone)) == length


@pytest.mark.parametrize(
    ("zone", "day", "start", "shown"),
    [
        ("Africa/Cairo", "2023-04-28", utc(2023, 4, 27, 22), "01:00"),
        ("America/Sao_Paulo", "2017-10-15", utc(2017, 10, 15, 3), "01:00"),
        ("America/Asuncion", "2023-10-01", utc(2023, 10, 1, 4), "01:00"),
        ("Asia/Beirut", "2025-03-30", utc(2025, 3, 29, 22), "01:00"),
        ("America/Toronto", "1919-03-31", utc(1919, 3, 31, 4, 30), "00:30"),  # put forward at 23:30
    ],
)
def test_a_day_whose_midnight_does_not_exist_begins_when_the_day_does(
    zone: str, day: str, start: datetime, shown: str
) -> None:
    found = Grain.DAY.parse(day, zone)

    assert found.start == start
    assert found.start.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M") == f"{day} {shown}"
    assert Grain.DAY.partition(start - timedelta(microseconds=1), zone).end == start


def test_minutes_put_back_over_midnight_belong_to_the_new_day() -> None:
    """In 2006 clocks of Newfoundland went from 00:01 on 29 October back to 23:01 on the 28th."""
    midnight = utc(2006, 10, 29, 2, 30)
    old, new = (Grain.DAY.parse(key, "America/St_Johns") for key in ("2006-10-28", "2006-10-29"))

    assert (old.end, new.start, hours(new)) == (midnight, midnight, 25)
    assert Grain.DAY.partition(midnight + timedelta(minutes=30), "America/St_Johns") == new


def test_a_day_that_the_calendar_skipped_is_no_partition() -> None:
    """Samoa went from 29 to 31 December 2011."""
    zone = "Pacific/Apia"
    around = Grain.DAY.partitions(utc(2011, 12, 29, 12), utc(2011, 12, 31), zone)

    assert [item.key for item in around] == ["2011-12-29", "2011-12-31"]
    with pytest.raises(ValueError, match="not a day partition"):
        Grain.DAY.parse("2011-12-30", zone)


def test_an_hour_that_the_clock_shows_twice_is_two_partitions() -> None:
    first, second = (Grain.HOUR.parse(key, "Europe/Berlin") for key in ("2025-10-26T02", "2025-10-26T02-2"))

    assert first.end == second.start == utc(2025, 10, 26, 1)
    assert (hours(first), hours(second)) == (1, 1)
    assert (first.compact, second.compact) == ("20251026T02", "20251026T022")


@pytest.mark.parametrize(
    ("zone", "key"),
    [
        ("Europe/Berlin", "2025-03-30T02"),  # skipped
        ("Europe/Berlin", "2025-10-26T03-2"),  # shown once
        ("UTC", "2025-10-26T02-2"),
        ("Europe/Berlin", "2025-10-26T02-1"),
    ],
)
def test_an_hour_that_the_clock_does_not_show_is_no_partition(zone: str, key: str) -> None:
    with pytest.raises(ValueError, match=r"not an? hour partition"):
        Grain.HOUR.parse(key, zone)


def test_a_clock_moved_by_half_an_hour_cuts_hours_short() -> None:
    found = list(Grain.HOUR.partitions(utc(2025, 4, 5, 14), utc(2025, 4, 5, 17), "Australia/Lord_Howe"))

    assert [(item.key, hours(item)) for item in found] == [
        ("2025-04-06T01", 1),
        ("2025-04-06T01-2", 0.5),
        ("2025-04-06T02", 1),
        ("2025-04-06T03", 1),
    ]


# --- calendars -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grain", "instant", "key", "days"),
    [
        (Grain.DAY, utc(2024, 2, 29, 23, 59, 59), "2024-02-29", 1),
        (Grain.MONTH, utc(2024, 2, 29), "2024-02", 29),
        (Grain.MONTH, utc(2025, 2, 28), "2025-02", 28),
        (Grain.MONTH, utc(2025, 1, 31, 23, 59), "2025-01", 31),
        (Grain.MONTH, utc(2025, 12, 31), "2025-12", 31),
        (Grain.MONTH, utc(2000, 2, 29), "2000-02", 29),
        (Grain.YEAR, utc(2024, 12, 31), "2024", 366),
        (Grain.YEAR, utc(2025, 1, 1), "2025", 365),
        (Grain.WEEK, utc(2024, 12, 30), "2025-W01", 7),
        (Grain.WEEK, utc(2021, 1, 3, 23), "2020-W53", 7),
        (Grain.WEEK, utc(2021, 1, 4), "2021-W01", 7),
        (Grain.WEEK, utc(2025, 5, 4, 23, 59), "2025-W18", 7),
    ],
)
def test_months_leap_days_and_iso_weeks(grain: Grain, instant: datetime, key: str, days: int) -> None:
    found = grain.partition(instant)

    assert (found.key, hours(found) / 24) == (key, days)


@pytest.mark.parametrize(
    ("grain", "key", "example"),
    [
        (Grain.DAY, "2025-5-1", "2025-05-01"),
        (Grain.DAY, "20250501", "2025-05-01"),
        (Grain.DAY, "2025-05-01 ", "2025-05-01"),
        (Grain.DAY, " 2025-05-01", "2025-05-01"),
        (Grain.DAY, "2025-05-01T00", "2025-05-01"),
        (Grain.DAY, "2025-05-01\n", "2025-05-01"),
        (Grain.DAY, "01.05.2025", "2025-05-01"),
        (Grain.DAY, "2025-02-29", "2025-05-01"),
        (Grain.DAY, "1900-02-29", "2025-05-01"),
        (Grain.DAY, "2025-04-31", "2025-05-01"),
        (Grain.DAY, "\u0662\u0660\u0662\u0665-05-01", "2025-05-01"),
        (Grain.DAY, "9999-12-31", "2025-05-01"),
        (Grain.DAY, "", "2025-05-01"),
        (Grain.DAY, "today", "2025-05-01"),
        (Grain.HOUR, "2025-05-01", "2025-05-01T00"),
        (Grain.HOUR, "2025-05-01T7", "2025-05-01T00"),
        (Grain.HOUR, "2025-05-01T24", "2025-05-01T00"),
        (Grain.HOUR, "2025-05-01T07:00", "2025-05-01T00"),
        (Grain.WEEK, "2025-W1", "2025-W18"),
        (Grain.WEEK, "2025-W00", "2025-W18"),
        (Grain.WEEK, "2021-W53", "2025-W18"),
        (Grain.WEEK, "2025-w18", "2025-W18"),
        (Grain.WEEK, "2025-05-01", "2025-W18"),
        (Grain.MONTH, "2025-5", "2025-05"),
        (Grain.MONTH, "2025-13", "2025-05"),
        (Grain.MONTH, "2025-05-01", "2025-05"),
        (Grain.YEAR, "25", "2025"),
        (Grain.YEAR, "2025-05", "2025"),
    ],
)
def test_a_near_miss_of_a_key_is_refused_with_an_example(grain: Grain, key: str, example: str) -> None:
    with pytest.raises(ValueError, match=f"write it like '{example}'$") as refused:
        grain.parse(key)

    assert repr(key) in str(refused.value)


# --- laws ------------------------------------------------------------------------------------------


@given(INSTANTS, grains, zones)
@hundred
def test_every_instant_lies_in_the_partition_that_its_key_names(instant: datetime, grain: Grain, zone: str) -> None:
    found = grain.partition(instant, zone)
    again = grain.parse(found.key, zone)

    assert found.start <= instant < found.end
    assert (again, again.key, again.zone) == (found, found.key, zone)


@given(INSTANTS, grains, zones)
@hundred
def test_all_instants_of_a_partition_give_that_partition(instant: datetime, grain: Grain, zone: str) -> None:
    found = grain.partition(instant, zone)
    inside = [found.start, found.start + (found.end - found.start) / 3, found.end - timedelta(microseconds=1)]

    assert {grain.partition(moment, zone) for moment in inside} == {found}


@given(INSTANTS, st.integers(1, 40), grains, zones)
@hundred
def test_the_partitions_of_a_range_leave_no_gap_and_do_not_overlap(
    start: datetime, count: int, grain: Grain, zone: str
) -> None:
    length = grain.partition(start, zone).end - grain.partition(start, zone).start
    end = start + length * count
    found = list(grain.partitions(start, end, zone))

    assert found[0].start <= start < found[0].end
    assert found[-1].start < end <= found[-1].end
    assert all(before.end == after.start for before, after in pairwise(found))
    assert len({item.key for item in found}) == len(found)
    assert sorted(found) == found


@given(INSTANTS, grains, zones)
@hundred
def test_an_empty_range_has_no_partitions_after_its_own(instant: datetime, grain: Grain, zone: str) -> None:
    start = grain.partition(instant, zone).start

    assert list(grain.partitions(start, start, zone)) == []


# --- data intervals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grain", "zone", "start", "end", "keys"),
    [
        (Grain.DAY, "UTC", utc(2025, 5, 1), utc(2025, 5, 2), ["2025-05-01"]),
        (Grain.DAY, "UTC", utc(2025, 5, 1, 9, 30), utc(2025, 5, 2, 9, 30), ["2025-05-01"]),
        (Grain.DAY, "UTC", utc(2025, 5, 1, 7), utc(2025, 5, 1, 8), ["2025-05-01"]),
        (Grain.DAY, "UTC", utc(2025, 5, 1, 23), utc(2025, 5, 2), ["2025-05-01"]),
        (Grain.DAY, "UTC", utc(2025, 4, 30), utc(2025, 5, 3), ["2025-04-30", "2025-05-01", "2025-05-02"]),
        (Grain.DAY, "Europe/Berlin", utc(2025, 3, 29, 23), utc(2025, 3, 30, 22), ["2025-03-30"]),
        (Grain.DAY, "Europe/Berlin", utc(2025, 10, 25, 22), utc(2025, 10, 26, 23), ["2025-10-26"]),
        (Grain.HOUR, "UTC", utc(2025, 5, 1, 7, 15), utc(2025, 5, 1, 7, 30), ["2025-05-01T07"]),
        (Grain.HOUR, "UTC", utc(2025, 5, 1, 7), utc(2025, 5, 1, 9), ["2025-05-01T07", "2025-05-01T08"]),
        (Grain.MONTH, "UTC", utc(2025, 5, 1), utc(2025, 5, 2), ["2025-05"]),
        (Grain.WEEK, "UTC", utc(2025, 4, 28), utc(2025, 5, 5), ["2025-W18"]),
    ],
)
def test_a_data_interval_covers_what_it_completes_or_lies_in(
    grain: Grain, zone: str, start: datetime, end: datetime, keys: list[str]
) -> None:
    assert [item.key for item in grain.covering(start, end, zone)] == keys


@given(INSTANTS, st.lists(st.integers(26, 100), min_size=2, max_size=6), zones)
@hundred
def test_intervals_in_a_row_cover_every_day_once(start: datetime, lengths: list[int], zone: str) -> None:
    bounds = [start + timedelta(hours=sum(lengths[:count])) for count in range(len(lengths) + 1)]
    found = [item for begin, end in pairwise(bounds) for item in Grain.DAY.covering(begin, end, zone)]

    assert all(before.end == after.start for before, after in pairwise(found))

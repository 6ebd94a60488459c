"""The time of day at which something may happen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_idempotent.core.opening import DailyWindow

NIGHT = DailyWindow.parse("01:00-05:00", "Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "hour", "is_open"),
    [
        ("01:00-05:00", "00:59", False),
        ("01:00-05:00", "01:00", True),
        ("01:00-05:00", "04:59", True),
        ("01:00-05:00", "05:00", False),
        ("22:00-02:00", "21:59", False),
        ("22:00-02:00", "23:59", True),
        ("22:00-02:00", "00:00", True),
        ("22:00-02:00", "02:00", False),
    ],
)
def test_it_is_open_from_its_start_until_before_its_end(text: str, hour: str, is_open: bool) -> None:
    now = datetime.fromisoformat(f"2025-05-01T{hour}+00:00")

    assert DailyWindow.parse(text).is_open(now) is is_open


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2025-05-01T20:00+00:00", "2025-05-01T23:00+00:00"),
        ("2025-05-01T23:00+00:00", "2025-05-02T23:00+00:00"),
        ("2025-03-29T12:00+00:00", "2025-03-30T00:00+00:00"),  # the night in which clocks go forward
        ("2025-03-30T12:00+00:00", "2025-03-30T23:00+00:00"),
        ("2025-10-25T12:00+00:00", "2025-10-25T23:00+00:00"),  # the night in which they go back
    ],
)
def test_it_opens_by_the_clock_on_the_wall(now: str, opens: str) -> None:
    found = NIGHT.opens(datetime.fromisoformat(now))

    assert found == datetime.fromisoformat(opens)
    assert NIGHT.is_open(found)
    assert not NIGHT.is_open(found - timedelta(minutes=1))


def test_it_never_opens_now() -> None:
    now = datetime(2025, 5, 1, 1, tzinfo=UTC)

    assert DailyWindow.parse("01:00-05:00").opens(now) == now + timedelta(days=1)


@pytest.mark.parametrize("text", ["1-5", "01:00-25:00", "01:00", "01:00-01:00", "01:60-02:00", ""])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it like '01:00-05:00'"):
        DailyWindow.parse(text)


def test_it_is_told_with_its_zone() -> None:
    assert str(NIGHT) == "01:00-05:00 Europe/Berlin"

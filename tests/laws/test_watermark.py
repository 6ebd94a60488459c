"""The watermark never passes a gap, never goes back, and never speaks of rows that nobody has read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.laws.world import law
from tests.ledger_runs import DAY, FIRST, Runs, day
from tests.postgres_fixtures import DRIVERS, opening

DAYS = 6
_tables = count(1)

days = st.integers(1, DAYS)
hours = st.none() | st.integers(0, 30)
"""How far a run's rows reach, after where it begins; None when there were none."""
moves = st.one_of(
    st.tuples(st.just("plan"), days, hours),
    st.tuples(st.just("publish"), days, hours),
    st.tuples(st.just("fail"), days, hours),
    st.tuples(st.just("crash"), days, hours),
    st.tuples(st.just("backfill"), days, hours),
    st.tuples(st.just("manual"), days, hours),
)


@pytest.fixture
def connection(database: str) -> Iterator[object]:
    with opening(DRIVERS[0], database) as connect, closing(connect()) as opened:
        yield opened


@dataclass
class Model:
    """What has been planned and published, in plain Python."""

    planned: dict[int, datetime] = field(default_factory=dict)
    published: set[int] = field(default_factory=set)
    windows: list[tuple[int, datetime, datetime | None]] = field(default_factory=list)
    """Of the scheduled lane: day, from where it was read, the greatest cursor."""

    @property
    def gap(self) -> int:
        """The first day that no lane has published."""
        return next(number for number in range(1, DAYS + 2) if number not in self.published)

    @property
    def watermark(self) -> datetime | None:
        return max((mark for number, _, mark in self.windows if mark and number < self.gap), default=None)

    def has_read(self, instant: datetime) -> bool:
        """Whether a published scheduled run asked for rows of that time, when all runs are of days in order."""
        return any(low <= instant < day(number).end for number, low, _ in self.windows)


def as_number(instant: datetime | None) -> int | None:
    """An instant as the number of a row that was written then."""
    return None if instant is None else (instant - FIRST) // timedelta(hours=1) + 1000


@law
@given(story=st.lists(moves, max_size=25))
def test_no_story_of_runs_moves_a_number_otherwise_than_a_time(
    connection: object, story: list[tuple[str, int, int]]
) -> None:
    name = f"public.t{next(_tables)}"
    times, numbers, model = Runs(connection, name), Numbers(connection, f"{name}_numbers"), Model()

    for kind, number, reach in story:
        play(times, model, kind, number, reach, numbers)

        assert numbers.number == as_number(times.watermark)
        assert numbers.gaps == times.gaps


class Numbers(Runs):
    """The same runs, by a number that rises by the hour."""

    def publish(self, number: int, low: Any, watermark: Any, lane: str = "scheduled", **step: Any) -> None:
        super().publish(number, as_number(low), as_number(watermark), lane, **step)

    def fail(self, number: int, low: Any, lane: str = "scheduled") -> None:
        super().fail(number, as_number(low) or 0, lane)

    @property
    def number(self) -> int | None:
        """How far the table is."""
        rows = self.query("SELECT cursor_number FROM airflow_idempotent.watermarks WHERE table_name = %(table)s")
        return rows[0][0] if rows else None


@law
@example(story=[("backfill", 4, None), ("publish", 5, 0)])  # the gap lies before a day that was only backfilled
@given(story=st.lists(moves, max_size=25))
def test_no_story_of_runs_lets_the_watermark_pass_a_gap(connection: object, story: list[tuple[str, int, int]]) -> None:
    runs, model = Runs(connection, f"public.t{next(_tables)}"), Model()
    seen: datetime | None = None

    for kind, number, reach in story:
        play(runs, model, kind, number, reach)
        watermark = runs.watermark

        assert watermark == model.watermark
        if watermark is not None:
            assert seen is None or watermark >= seen, "it went back"
            assert watermark <= day(model.gap - 1).end, "it passed a gap"
            moments = (FIRST + timedelta(hours=hour) for hour in range(24 * DAYS))
            assert all(model.has_read(moment) for moment in moments if moment < watermark), "nobody has read up to it"
        seen = watermark


def play(runs: Runs, model: Model, kind: str, number: int, reach: int | None, beside: Runs | None = None) -> None:
    """One thing that happens to the table. A scheduled run reads from where the watermark was when it was planned.

    The same happens to the one ``beside`` it.
    """
    every = [runs, *([beside] if beside else [])]
    if kind in ("backfill", "manual"):
        for each in every:
            each.publish(number, day(number).start, day(DAYS).end, lane=kind)
        model.published.add(number)
        return
    if kind == "plan" or number not in model.planned:
        model.planned[number] = min(runs.watermark or FIRST, day(number).start)
    low = model.planned[number]
    if kind == "publish":
        mark = None if reach is None else min(low + timedelta(hours=reach), day(number).end)
        for each in every:
            each.publish(number, low, mark)
        model.published.add(number)
        model.windows.append((number, low, mark))
    elif kind == "fail":
        for each in every:
            each.fail(number, low)


def test_a_story_in_which_all_goes_well_ends_at_its_last_row(connection: object) -> None:
    runs, model = Runs(connection, "public.well"), Model()

    for number in range(1, DAYS + 1):
        play(runs, model, "plan", number, None)
        play(runs, model, "publish", number, 100)

    assert runs.watermark == model.watermark == FIRST + DAYS * DAY

"""Events that arrive days late, twice, and corrected: the same for a seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Literal

from airflow_idempotent.testing.batches import Batch
from airflow_idempotent.testing.draw import Draw
from airflow_idempotent.testing.simulation import DAY, Simulation, checked, day_of, first_day

Event = dict[str, Any]
SECONDS = 86_400


def simulate_late_data(
    *,
    seed: object,
    days: int = 7,
    events_per_day: int = 100,
    late_share: float = 0.1,
    max_days_late: int = 3,
    duplicate_share: float = 0.05,
    correction_share: float = 0.05,
    users: int = 50,
    start: str | date = "2025-05-01",
    partition: Literal["arrival", "event"] = "arrival",
) -> Simulation:
    """Make events ``event_id, event_time, ingested_at, user_id, value`` as deliveries bring them.

    A share arrives up to ``max_days_late`` days after it happened, a share is delivered a second
    time as it was, and a share is corrected later: same ``event_id``, other ``value``, later
    ``ingested_at``. Nothing arrives after the last day. Per event the greatest ``ingested_at`` is right.

    ``partition="arrival"``: one batch per day with what arrived on it, so that a batch holds events of
    earlier days; fits ``merge`` with ``version: [ingested_at]``. ``partition="event"``: each day
    with all that is known of it, again as its next revision whenever something of it arrived; fits
    strategies that replace a partition.

    Equal arguments give equal rows on every machine and Python; another seed gives others.

    Raises:
        ValueError: a share is not between 0 and 1, or a count is below 1.
    """
    shares = {"late_share": late_share, "duplicate_share": duplicate_share, "correction_share": correction_share}
    counts = {"days": days, "events_per_day": events_per_day, "max_days_late": max_days_late, "users": users}
    checked(shares, counts)
    draw, begin = Draw(f"late data {seed}"), first_day(start)
    delivered: list[list[Event]] = [[] for _ in range(days)]

    def deliver(row: Event, days_later: int = 0) -> None:
        day = (row["ingested_at"] - begin) // DAY + days_later
        if day < days:
            delivered[day].append(row)

    for number in range(days * events_per_day):
        happened = begin + number // events_per_day * DAY + timedelta(seconds=draw.below(SECONDS))
        late = draw.between(1, max_days_late) if draw.chance(late_share) else 0
        event = {
            "event_id": number + 1,
            "event_time": happened,
            "ingested_at": happened + late * DAY + timedelta(seconds=draw.below(600)),
            "user_id": draw.between(1, users),
            "value": Decimal(draw.between(1, 99_999)).scaleb(-2),
        }
        deliver(event)
        if draw.chance(duplicate_share):
            deliver(event, days_later=draw.between(0, max_days_late))
        if draw.chance(correction_share):
            deliver(_corrected(event, max_days_late, draw))
    delivered = [draw.shuffled(rows) for rows in delivered]
    by_day = _by_arrival if partition == "arrival" else _by_event
    return Simulation(tuple(by_day(delivered, begin)), _newest(chain.from_iterable(delivered)))


def _corrected(event: Event, max_days_late: int, draw: Draw) -> Event:
    """The same event with another value, ingested at least a second later."""
    later = timedelta(seconds=1 + draw.below(max_days_late * SECONDS))
    value = event["value"] + Decimal(draw.between(1, 999)).scaleb(-2)
    return event | {"ingested_at": event["ingested_at"] + later, "value": value}


def _by_arrival(delivered: Sequence[Sequence[Event]], begin: datetime) -> Iterator[Batch]:
    """One batch per day, with what arrived on it."""
    for day, rows in enumerate(delivered):
        yield Batch(day_of(begin + day * DAY), rows)


def _by_event(delivered: Sequence[Sequence[Event]], begin: datetime) -> Iterator[Batch]:
    """A revision of each day of which something arrived: all that is known of it by then, each event as it is right."""
    known: list[Event] = []
    for rows in delivered:
        known += rows
        for key in sorted({day_of(row["event_time"]) for row in rows}):
            yield Batch(key, _newest(row for row in known if day_of(row["event_time"]) == key).values())


def _newest(rows: Iterable[Event]) -> dict[int, Event]:
    """Per event the row ingested last."""
    found: dict[int, Event] = {}
    for row in sorted(rows, key=lambda row: (row["event_id"], row["ingested_at"])):
        found[row["event_id"]] = row
    return found

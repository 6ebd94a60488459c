"""A stream of changes that arrives out of order, twice, and with deletes that come late: the same for a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from airflow_idempotent.testing.batches import Batch
from airflow_idempotent.testing.draw import Draw
from airflow_idempotent.testing.simulation import DAY, Simulation, checked, day_of, first_day

Change = dict[str, Any]
OWNERS = ("Ada", "Blaise", "Émilie", "Grace", "Kurt", "Sofja", "Zoë")


def simulate_cdc(
    *,
    seed: object,
    keys: int = 20,
    events: int = 200,
    days: int = 5,
    delete_share: float = 0.2,
    out_of_order_share: float = 0.2,
    duplicate_share: float = 0.1,
    late_delete_share: float = 0.5,
    max_days_late: int = 2,
    start: str | date = "2025-05-01",
) -> Simulation:
    """Make changes ``op, commit_version, account_id, owner, balance, changed_at`` as a log reader delivers them.

    ``op`` is ``I``, ``U`` or ``D``; a key that was deleted may be inserted again. ``commit_version`` grows
    with each change of the source. A delete carries its key, and NULL for what is gone. One batch
    per day, in any order inside; a share of the changes is delivered up to ``max_days_late`` days after
    the others, a share twice, and of the deletes ``late_delete_share`` comes late, so that it may
    arrive after the key was inserted again. Everything is delivered by the last day.

    ``end_state`` holds the rows that are left at the source, by ``account_id`` and without ``op``: per
    key the change of the greatest ``commit_version``, and nothing where that is a delete.

    Equal arguments give equal rows on every machine and Python; another seed gives others.

    Raises:
        ValueError: a share is not between 0 and 1, or a count is below 1.
    """
    shares = {"delete_share": delete_share, "out_of_order_share": out_of_order_share}
    shares |= {"duplicate_share": duplicate_share, "late_delete_share": late_delete_share}
    counts = {"keys": keys, "events": events, "days": days, "max_days_late": max_days_late}
    checked(shares, counts)
    draw, begin = Draw(f"cdc {seed}"), first_day(start)
    delivered: list[list[Change]] = [[] for _ in range(days)]
    alive: dict[int, Change] = {}
    for number in range(events):
        changed_at = begin + days * DAY * number / events
        change = _next(number + 1, changed_at, alive, keys, delete_share, draw)
        late = draw.chance(late_delete_share if change["op"] == "D" else out_of_order_share)
        day = (changed_at - begin) // DAY + (draw.between(1, max_days_late) if late else 0)
        delivered[min(day, days - 1)].append(change)
        if draw.chance(duplicate_share):
            delivered[min(day + draw.between(0, max_days_late), days - 1)].append(change)
    batches = _batches([draw.shuffled(rows) for rows in delivered], begin)
    left = {key: {name: value for name, value in alive[key].items() if name != "op"} for key in sorted(alive)}
    return Simulation(tuple(batches), left)


def _next(
    version: int, changed_at: datetime, alive: dict[int, Change], keys: int, delete_share: float, draw: Draw
) -> Change:
    """The next change of the source, which is kept in ``alive``."""
    key = draw.between(1, keys)
    known = alive.get(key)
    if known and draw.chance(delete_share):
        del alive[key]
        return _change("D", version, key, None, None, changed_at)
    owner = known["owner"] if known else draw.one_of(OWNERS)
    balance = Decimal(draw.between(-50_000, 999_999)).scaleb(-2)
    alive[key] = _change("U" if known else "I", version, key, owner, balance, changed_at)
    return alive[key]


def _change(
    op: str, version: int, key: int, owner: str | None, balance: Decimal | None, changed_at: datetime
) -> Change:
    return {
        "op": op,
        "commit_version": version,
        "account_id": key,
        "owner": owner,
        "balance": balance,
        "changed_at": changed_at.replace(microsecond=0),
    }


def _batches(delivered: Sequence[Sequence[Change]], begin: datetime) -> Iterator[Batch]:
    for day, rows in enumerate(delivered):
        yield Batch(day_of(begin + day * DAY), rows)

"""What each strategy is given: the table before, and the one delivery that is measured.

Of the table before, a small part, the *seed*, is loaded by our product: that creates table and ledger. The
*rest* is copied in beside it. Where a strategy keeps more than the delivered columns, the rest has those too.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from rows import DAY_US, DAYS, FIRST_DAY, Rows, concat, payload, take
from workload import changed, day_of_changes, new_rows, target_rows

SEED_SHARE = 60
"""The seed is one row in so many."""


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Seed and batch are files as a source delivers them; ``older`` is a batch that the measured one replaces."""

    seed: Rows
    rest: Rows
    batch: Rows
    older: Rows | None = None


Maker = Callable[[int, int], Deliveries]
"""From the rows of the table before and of the batch."""


def upserts(size: int, count: int) -> Deliveries:
    """The day of changes that ``make bench`` loads."""
    rows = target_rows(size)
    return split(rows, day_of_changes(rows, count))


def arrivals(size: int, count: int) -> Deliveries:
    """A day that was not there, all rows new."""
    rng = np.random.default_rng([10, size])
    return split(target_rows(size), shuffled(rng, new_rows(rng, size + 1, count)))


def revision(size: int, count: int) -> Deliveries:
    """A day that was delivered before, now with other rows: 10 % changed, 1 % gone, 1 % new."""
    rng = np.random.default_rng([11, size])
    older = new_rows(rng, size + 1, count)
    return split(target_rows(size), shuffled(rng, edited(rng, older, 0.10)), older)


def partition(size: int, count: int) -> Deliveries:
    """As a revision, of a day that stands in the table."""
    rng = np.random.default_rng([12, size])
    day = new_rows(rng, size - count + 1, count)
    return split(concat([target_rows(size - count), day]), shuffled(rng, edited(rng, day, 0.10)))


def full(size: int, count: int) -> Deliveries:
    """The whole table again, in its order: 5 % changed, 1 % gone, 1 % new."""
    rows = target_rows(size)
    return split(rows, edited(np.random.default_rng([13, size]), rows, 0.05))


def lines(size: int, count: int) -> Deliveries:
    """Orders of two lines each. A quarter of the batch is of new orders; of the others 10 % changed, 5 % gone."""
    rng = np.random.default_rng([14, size])
    rows = two_lines(rng, target_rows(size // 2))
    known = np.zeros(size // 2, bool)
    known[rng.choice(size // 2, count * 3 // 8, replace=False)] = True
    fresh = two_lines(rng, new_rows(rng, size // 2 + 1, count // 8))
    old = edited(rng, take(rows, np.repeat(known, 2)), 0.10, gone=0.05, new=0)
    more = take(old, rng.choice(len(old["order_id"]), count // 40, replace=False))
    more |= {"line_no": more["line_no"] + 2, **payload(rng, len(more["line_no"]))}
    return split(rows, shuffled(rng, concat([old, more, fresh])))


def events(size: int, count: int) -> Deliveries:
    """Of 100 events 55 change and 10 delete rows, 20 bring new keys, 5 keys deleted before; 10 are second events.

    A tenth of them comes late: the table, or the tombstone, has a newer one. Versions never tie.
    """
    rng = np.random.default_rng([15, size])
    rows = target_rows(size)
    rows |= {"commit_version": rng.integers(10**8, 2 * 10**8, size) * 4, "op": np.full(size, "I")}
    which = rng.permutation(size)[: count * 65 // 100]
    gone = new_rows(rng, 2 * size, count // 20)
    gone |= {"commit_version": rng.integers(10**8, 2 * 10**8, count // 20) * 4, "op": np.full(count // 20, "D")}
    new = new_rows(rng, size + 1, count // 5)
    new |= {"commit_version": rng.integers(10**8, 2 * 10**8, count // 5) * 4, "op": np.full(count // 5, "I")}
    first = concat(
        [
            new,
            event(rng, take(rows, which[: count * 55 // 100]), "U", 0.1),
            event(rng, take(rows, which[count * 55 // 100 :]), "D", 0.1),
            event(rng, gone, "I", 0.5),
        ]
    )
    again = event(rng, take(first, rng.choice(len(first["op"]), count // 10, replace=False)), "U", 0.5)
    again["op"] = np.where(rng.random(len(again["op"])) < 0.3, "D", again["op"])
    parts = split(rows, shuffled(rng, concat([first, again])))
    del parts.rest["op"]
    return Deliveries(concat([parts.seed, gone]), parts.rest, parts.batch)


def versions(size: int, count: int) -> Deliveries:
    """Keys of two versions each. Of 100 versions 70 are newer, 10 late, 5 known, 15 of new keys."""
    rng = np.random.default_rng([16, size])
    first = target_rows(size // 2)
    second = {**first, **payload(rng, size // 2), "at": first["at"] + rng.integers(2 * DAY_US, 20 * DAY_US, size // 2)}
    rows = concat([first, second])
    which = rng.permutation(size // 2)[: count * 85 // 100]
    known, before = take(second, which), take(first, which)["at"]
    kind, length = rng.random(len(which)), len(which)
    newer = known["at"] + rng.integers(1, 10 * DAY_US, length)
    late = before + 1 + (rng.random(length) * (known["at"] - before - 2)).astype(np.int64)
    batch = {**known, **payload(rng, length), "at": np.where(kind < 70 / 85, newer, late)}
    batch = {name: np.where(kind >= 80 / 85, known[name], values) for name, values in batch.items()}
    new = new_rows(rng, size // 2 + 1, count - length)
    return split(rows, shuffled(rng, concat([batch, new])))


def days(size: int, count: int, number: int) -> Iterator[tuple[str, Rows]]:
    """Every second day of the table delivered again: 60 % of the rows changed, 40 % new. No two share a key."""
    rows = target_rows(size)
    for place in range(number):
        day = 2 * place + 1
        rng = np.random.default_rng([17, day])
        known = take(rows, rows["day"] == day)
        known = take(known, rng.permutation(len(known["order_id"]))[: count * 6 // 10])
        fresh = new_rows(rng, size + 1 + place * count, count - len(known["order_id"]))
        fresh |= {"day": np.full(len(fresh["day"]), day)}
        key = (FIRST_DAY + dt.timedelta(days=day)).isoformat()
        yield key, shuffled(rng, concat([changed(rng, known), fresh]))


def split(rows: Rows, batch: Rows, older: Rows | None = None) -> Deliveries:
    """The rows of the first days are the seed."""
    seed = rows["day"] < max(1, DAYS // SEED_SHARE)
    return Deliveries(take(rows, seed), take(rows, ~seed), batch, older)


def edited(rng: np.random.Generator, rows: Rows, share: float, *, gone: float = 0.01, new: float = 0.01) -> Rows:
    """Rows as they are delivered again: some changed, some missing, some added."""
    count = len(rows["order_id"])
    other = payload(rng, count) | {"at": rows["at"] + rng.integers(1, DAY_US, count)}
    hit = rng.random(count) < share
    kept = take({**rows, **{name: np.where(hit, other[name], rows[name]) for name in other}}, rng.random(count) >= gone)
    added = {**new_rows(rng, int(rows["order_id"].max()) + 1, int(count * new))}
    return concat([kept, added]) if new else kept


def event(rng: np.random.Generator, rows: Rows, op: str, late: float) -> Rows:
    """A later event of each row, or an earlier one; never one of the same version."""
    count = len(rows["order_id"])
    sign = np.where(rng.random(count) < late, -1, 1)
    moved = rows["commit_version"] + sign * (rng.integers(1, 10**6, count) * 4 + 1)
    return {**rows, **payload(rng, count), "commit_version": moved, "op": np.full(count, op)}


def two_lines(rng: np.random.Generator, orders: Rows) -> Rows:
    both = {name: np.repeat(values, 2) for name, values in orders.items()}
    count = len(both["order_id"])
    return both | payload(rng, count) | {"line_no": np.tile([1, 2], count // 2)}


def shuffled(rng: np.random.Generator, rows: Rows) -> Rows:
    return take(rows, rng.permutation(len(rows["order_id"])))

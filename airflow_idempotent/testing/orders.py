"""In which orders batches are loaded, and how often: pure, and the same for a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, islice, permutations

from airflow_idempotent.testing.draw import Draw

Order = tuple[int, ...]
"""Places of batches in the list given, in the order of loading; one may come twice."""


def orders(count: int, of: int, *, seed: object = 0) -> tuple[Order, ...]:
    """At most ``count`` different orders of ``of`` batches: as given, backwards, then others.

    The first loads each batch once. Every other loads some of them again on the way, each batch at
    least once. All there are, where there are no more than ``count``.
    """
    draw = Draw(f"orders {seed}")
    given = tuple(range(of))
    found = dict.fromkeys(islice(chain([given, given[::-1]], _others(count, of, draw)), count + 2))
    return tuple(order if order == given else _repeated(order, draw) for order in list(found)[:count])


def possible(of: int) -> int:
    """How many orders there are."""
    return math.factorial(of)


def _others(count: int, of: int, draw: Draw) -> Iterator[Order]:
    if possible(of) <= max(count, 120):
        yield from draw.shuffled(list(permutations(range(of))))
        return
    while True:  # so many that one rarely comes twice
        yield tuple(draw.shuffled(list(range(of))))


def _repeated(order: Order, draw: Draw) -> Order:
    """Some batches a second time, anywhere."""
    longer = list(order)
    for _ in range(max(1, len(order) // 2)):
        longer.insert(draw.below(len(longer) + 1), order[draw.below(len(order))])
    return tuple(longer)

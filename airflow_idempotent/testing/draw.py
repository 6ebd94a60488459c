"""Chance that is the same on every machine and every Python for a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws from a seed. Only ``random.random`` is used: of the others Python keeps the sequence for no version."""

    def __init__(self, seed: object) -> None:
        self._random = random.Random(str(seed)).random

    def below(self, limit: int) -> int:
        """A whole number, ``0 <= n < limit``."""
        return int(self._random() * limit)

    def between(self, least: int, greatest: int) -> int:
        """A whole number, both ends included."""
        return least + self.below(greatest - least + 1)

    def chance(self, share: float) -> bool:
        """True in that share of all cases."""
        return self._random() < share

    def one_of(self, items: Sequence[T]) -> T:
        """Any of them."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All of them, in any order."""
        keyed = [(self._random(), number) for number in range(len(items))]
        return [items[number] for _, number in sorted(keyed)]

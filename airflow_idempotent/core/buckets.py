"""Digests of parts of a partition: where two states differ is known without comparing their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

MOST_BUCKETS = 4096
_MODULUS = 1 << 128


@dataclass(frozen=True, slots=True)
class Difference:
    """A bucket that is not what it was: its number, and its rows then and now."""

    number: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Buckets:
    """Rows of one partition by the hash of their ``key``: how many each bucket has, and the sum of their hashes."""

    key: tuple[str, ...]
    rows: tuple[int, ...]
    digests: tuple[str, ...]

    @classmethod
    def read(cls, key: Sequence[str], buckets: int, found: Iterable[Sequence[Any]]) -> Self:
        """From rows of (bucket, rows, sum of hashes), as the database counted them; empty buckets have none."""
        counted = {number: (rows, f"{int(total) % _MODULUS:032x}") for number, rows, total in found}
        filled = [counted.get(number, (0, f"{0:032x}")) for number in range(buckets)]
        return cls(tuple(key), tuple(rows for rows, _ in filled), tuple(text for _, text in filled))

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def row_count(self) -> int:
        """The rows of all buckets."""
        return sum(self.rows)

    @property
    def total(self) -> str:
        """The sum of the hashes of all rows: what one digest of the whole partition is made from."""
        return str(sum(int(text, 16) for text in self.digests) % _MODULUS)

    def differences(self, now: Buckets) -> tuple[Difference, ...]:
        """The buckets in which rows were added, removed or changed since.

        Raises:
            ValueError: the other ones are cut in another way.
        """
        if (self.key, self.count) != (now.key, now.count):
            raise ValueError(f"{self.count} buckets by {self.key} cannot be compared with {now.count} by {now.key}")
        pairs = zip(self.rows, now.rows, self.digests, now.digests, strict=True)
        return tuple(
            Difference(number, before, after)
            for number, (before, after, then, later) in enumerate(pairs)
            if (before, then) != (after, later)
        )

"""The audit trail: the events of each partition as a chain, and what is wrong with one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Break(StrEnum):
    """What can be wrong with an event of a chain."""

    ALTERED = "altered"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Broken:
    """An event that is not as it was written, or whose neighbour is gone. ``event_id`` is where that shows."""

    table: str
    table_version: int
    partition: str
    event_id: int
    what: Break
    message: str


@dataclass(frozen=True, slots=True)
class Trail:
    """What was verified, in numbers, and what was found."""

    events: int = 0
    chains: int = 0
    broken: tuple[Broken, ...] = ()

    def __add__(self, other: Trail) -> Trail:
        return Trail(self.events + other.events, self.chains + other.chains, self.broken + other.broken)

"""What an audit looks at, in which order, and what it can find."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

WHOLE_TABLE = "*"
"""The partition of a finding that belongs to none, and to each."""


class Cause(StrEnum):
    """Why what is there is not what the ledger says, or not what the spec would make of it."""

    SOURCE_CHANGED = "source_changed"
    TARGET_CHANGED = "target_changed"
    SCHEMA_CHANGED = "schema_changed"
    BATCH_DAMAGED = "batch_damaged"
    SPEC_CHANGED = "spec_changed"

    @property
    def alarms(self) -> bool:
        """Whether somebody has to be woken: not by a spec, which was changed on purpose."""
        return self is not Cause.SPEC_CHANGED

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Sample:
    """How many of a table's partitions one audit looks at: a share of them, a number, or all.

    Raises:
        ValueError: it is none of these.
    """

    share: float = 1.0
    count: int | None = None

    @classmethod
    def parse(cls, value: Any) -> Self:
        """``10%``, ``50`` or ``all``."""
        text = str(value).strip().lower()
        if text == "all":
            return cls()
        try:
            if text.endswith("%") and 0 < (share := float(text[:-1])) <= 100:
                return cls(share=share / 100)
            if text.isdecimal() and int(text) > 0:
                return cls(count=int(text))
        except ValueError:
            pass
        raise ValueError(f"{value!r} is no sample: write a share like '10%', a number of partitions, or all")

    def of(self, total: int) -> int:
        """How many of ``total`` that are; never none of some."""
        if self.count is not None:
            return min(self.count, total)
        return math.ceil(round(total * self.share, 6))


@dataclass(frozen=True, slots=True)
class Due:
    """A published partition that may be audited.

    ``since`` is when it was audited last, else first published. ``mine`` says that the run which asks has
    audited it before, ``is_open`` that something found in it is not healed yet. ``refused`` is the batch
    whose load failed since, if one did.
    """

    key: str
    start: datetime
    end: datetime
    event_id: int
    batch_id: str
    spec_fingerprint: str
    content_fingerprint: str
    since: datetime
    mine: bool = False
    is_open: bool = False
    refused: str = ""


def choose(due: Iterable[Due], sample: Sample, *, seed: str = "") -> tuple[Due, ...]:
    """The partitions that one audit looks at: those that wait longest, and those in which something is open.

    Who was audited goes to the end of the queue, so every partition has its turn, whatever is added meanwhile.
    A retry of a run gets what the run had. Equal times are ordered by ``seed``, so that nothing is left to chance.
    """
    queue = sorted(due, key=lambda item: (not item.mine, item.since, _shuffled(seed, item.key)))
    taken = queue[: sample.of(len(queue))]
    still_open = [item for item in queue[len(taken) :] if item.is_open]
    return tuple(sorted((*taken, *still_open), key=lambda item: item.start))


def _shuffled(seed: str, key: str) -> str:
    return hashlib.sha256(f"{seed}|{key}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be. ``since`` is when it was first found; None while nobody wrote it down."""

    table: str
    partition: str
    cause: Cause
    message: str
    event_id: int | None = None
    since: datetime | None = None
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Look:
    """What an audit saw of one partition.

    ``judged`` are the causes that it could tell: only those are opened and closed. ``unjudged`` says why
    others could not be told. Where ``baseline`` says why, the measure, of these ``columns``, stands for the
    partition from now on; ``began`` is when it was begun.
    """

    partition: str
    event_id: int | None
    judged: frozenset[Cause] = frozenset()
    findings: tuple[Finding, ...] = ()
    unjudged: tuple[str, ...] = ()
    row_count: int | None = None
    digest: str | None = None
    baseline: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    began: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceVerdict:
    """What a comparison of a batch with its source says; ``cause`` is None where both agree, or nobody can tell."""

    cause: Cause | None = None
    message: str = ""
    unjudged: str = ""
    judged: frozenset[Cause] = frozenset({Cause.SOURCE_CHANGED, Cause.BATCH_DAMAGED})


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit of a table came to. ``findings`` are all that are open, those of this audit and older ones."""

    table: str
    published: int
    looks: tuple[Look, ...]
    findings: tuple[Finding, ...]
    closed: int = 0

    @property
    def new(self) -> tuple[Finding, ...]:
        """What this audit has found first."""
        return tuple(item for item in self.findings if item.is_new)

    def by_cause(self, *, new: bool = True) -> dict[Cause, tuple[Finding, ...]]:
        """The findings of each cause that has some: one alarm each."""
        found = self.new if new else self.findings
        grouped = {cause: tuple(item for item in found if item.cause is cause) for cause in Cause}
        return {cause: items for cause, items in grouped.items() if items}


def is_stale(loaded_by: str, meaning: str) -> bool:
    """Whether another version of the spec has loaded a partition; the one rule for plans, audits and status."""
    return bool(loaded_by) and loaded_by != meaning


def shown_state(state: str, causes: Sequence[str]) -> str:
    """The state of a partition for people: what an audit found outweighs that it was published, not that it failed."""
    if not causes or state not in ("published", "validated"):
        return state
    return "drifted" if any(Cause(cause).alarms for cause in causes) else "stale"

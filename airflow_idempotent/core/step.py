"""Steps, and the proof that one ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from airflow_idempotent.core.actions import Action, Superseding
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.divergence import Comparison
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.staged import Scope
from airflow_idempotent.core.verdict import CheckResult


class State(StrEnum):
    """Where a partition stands. Only what the ledger can prove; ``missing`` is the absence of an event."""

    MISSING = "missing"
    LANDED = "landed"
    PUBLISHED = "published"
    VALIDATED = "validated"
    REJECTED = "rejected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Effects:
    """What happened to the rows of a batch, and to the table: seven counts, zeros included.

    Their sum is the rows of the batch and ``Measure.beyond_batch``.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    stale: int = 0
    duplicate: int = 0
    rejected: int = 0

    def __add__(self, other: Effects) -> Effects:
        return Effects(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(self)))

    @classmethod
    def sum(cls, effects: Iterable[Effects]) -> Effects:
        return sum(effects, cls())

    @property
    def touched(self) -> int:
        """Rows of the table that were written."""
        return self.inserted + self.updated + self.deleted

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    def __str__(self) -> str:
        return ", ".join(f"{value:,} {name}" for name, value in self.as_dict().items())


@dataclass(frozen=True, slots=True)
class Measure:
    """What was measured of a batch and of its partition, as the database prints it.

    ``row_count`` and ``digest`` are of the partition of the target after the write; both None when
    the table has no partition column. ``beyond_batch`` are rows of the table that were written and are no rows
    of the batch: those that the newest batch lacks, intervals that were closed. ``late_rows`` lie before the
    partition and within the lookback, ``too_late_rows`` before that.
    """

    staged_rows: int = 0
    min_version: str | None = None
    max_version: str | None = None
    min_event_time: str | None = None
    max_event_time: str | None = None
    row_count: int | None = None
    digest: str | None = None
    beyond_batch: int = 0
    late_rows: int = 0
    too_late_rows: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of one task; empty outside Airflow. ``lane`` says what kind of run it belongs to."""

    dag_id: str = ""
    run_id: str = ""
    task_id: str = ""
    map_index: int = -1
    try_number: int = 1
    lane: str = "manual"

    def __str__(self) -> str:
        mapped = f"[{self.map_index}]" if self.map_index >= 0 else ""
        return f"{self.dag_id}/{self.run_id}/{self.task_id}{mapped}#{self.try_number}" if self.dag_id else ""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds of one transaction, in seconds; None leaves the server's own setting."""

    lock: float | None = 300.0
    statement: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What stage_merge will do for one batch of one partition, as data: no connection, no clock.

    ``target`` is the table as it was when the step was built; a step whose table has changed since
    is built again. ``name`` is what the ledger calls it, where that is another name: that of a shadow's live
    table, or of the view that readers read; ``beside`` says that it is a shadow.
    ``prepare`` makes what must exist before (the table, a child table).
    ``exclusive`` keeps other writers of the table out, since no index of it would.
    ``notes`` say what was changed about the table before.
    ``may_replay`` lets the receipt of the same batch under the same spec stand for the work.
    ``guarded`` refuses a batch that another spec has published.
    ``consecutive_since`` is from where on each scheduled partition is to be published; None when some may not be.
    ``looks_back`` that a later run reads it again: whatever it writes came late.
    ``spec_text`` is the whole spec where the ledger keeps it: so a version goes on to be loaded by its own.
    """

    target: TableShape
    partition: Partition
    manifest: Manifest
    actions: tuple[Action, ...]
    prepare: tuple[Action, ...] = ()
    exclusive: bool = False
    scope: Scope = Scope.KEYS
    spec_fingerprint: str = ""
    name: str = ""
    table_version: int = 1
    beside: bool = False
    may_replay: bool = False
    guarded: bool = False
    consecutive_since: datetime | None = None
    looks_back: bool = False
    spec_text: str = field(default="", repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        return self.name or str(self.target.relation)

    def superseded(self) -> Self:
        """The same step for a batch that is no longer the newest of its partition."""
        actions = (replace(item, superseded=True) if isinstance(item, Superseding) else item for item in self.actions)
        return replace(self, actions=tuple(actions))


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a step committed: its ledger event. ``replayed`` means an earlier attempt did the work.

    ``relation`` is the table that was written or judged, a shadow maybe; empty where only the ledger was asked.
    ``changed`` is False where an earlier run has judged, and told downstream DAGs of, the same rows.
    ``comparison`` is with the live table, of a version that is built beside it.
    """

    table: str
    partition: str
    batch_id: str
    state: State
    effects: Effects = field(default_factory=Effects)
    measure: Measure = field(default_factory=Measure)
    checks: tuple[CheckResult, ...] = ()
    event_id: int | None = None
    recorded_at: datetime | None = None
    content_fingerprint: str = ""
    table_version: int = 1
    relation: str = ""
    replayed: bool = False
    dry_run: bool = False
    changed: bool = True
    notes: tuple[str, ...] = ()
    comparison: Comparison | None = field(default=None, repr=False)

    def as_pointer(self) -> dict[str, Any]:
        """The small part that travels through XCom and asset events: plain JSON values.

        Effects are those of this attempt: none, when an earlier one did the work.
        """
        return {
            "table": self.table,
            "partition": self.partition,
            "batch_id": self.batch_id,
            "state": str(self.state),
            "effects": (Effects() if self.replayed else self.effects).as_dict(),
            "row_count": self.measure.row_count,
            "digest": self.measure.digest,
            "late_rows": self.measure.late_rows,
            "too_late_rows": self.measure.too_late_rows,
            "replayed": self.replayed,
            "dry_run": self.dry_run,
            **({"likeness": str(self.comparison.likeness)} if self.comparison else {}),
        }

    def replay(self) -> Self:
        """The same proof, for an attempt that found the work done."""
        return replace(self, replayed=True)

"""Versions of a table: the live one, a shadow beside it, retired ones that are kept; and what a swap says it did."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

from airflow_idempotent.core.relation import MAX_IDENTIFIER_BYTES, Relation
from airflow_idempotent.core.step import Timeouts


class VersionState(StrEnum):
    """Where a version of a table stands, as the journal says."""

    PLANNED = "PLANNED"
    BUILT = "BUILT"
    VALIDATED = "VALIDATED"
    SWAPPED = "SWAPPED"
    RETIRED = "RETIRED"
    ROLLED_BACK = "ROLLED_BACK"
    DROPPED = "DROPPED"


SHADOW = (VersionState.PLANNED, VersionState.BUILT, VersionState.VALIDATED)
"""Not what readers read, and never was."""
KEPT = (VersionState.RETIRED, VersionState.ROLLED_BACK)
"""Was what readers read, and is still there."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a table, as the newest entry of the journal has it.

    ``relation`` is its name now, ``source`` the name it had before it became live, ``names`` what its indexes and
    the like were called while it was live. ``run`` is who brought it into its state, whatever try of it, and
    ``since`` is when.
    """

    table: str
    number: int
    relation: Relation
    oid: int
    state: VersionState
    source: str = ""
    spec_fingerprint: str = ""
    names: tuple[tuple[str, str], ...] = ()
    pinned: bool = False
    run: str = ""
    attempt: str = ""
    message: str = ""
    since: datetime | None = None

    @property
    def at(self) -> str:
        """When it came into its state, for people."""
        return f"{self.since:%Y-%m-%d %H:%M:%S}" if self.since else ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        return {
            "version": self.number,
            "relation": str(self.relation),
            "state": str(self.state),
            "pinned": self.pinned,
            "run": self.run,
            "spec_fingerprint": self.spec_fingerprint,
            "since": self.since and self.since.isoformat(),
            "message": self.message,
        }


def version_name(live: Relation, number: int) -> Relation:
    """``orders__v2``: what a version is called while it is not live. Cut by bytes, and then with a hash of the name."""
    return Relation(live.schema, fitted(f"{live.name}__v{number}", live.name, f"__v{number}"))


def fitted(name: str, whole: str, ending: str = "") -> str:
    """The name if it fits into 63 bytes; else cut, with a hash of ``whole`` before the ending, so that two differ."""
    if len(name.encode()) <= MAX_IDENTIFIER_BYTES:
        return name
    tail = f"_{hashlib.sha256(whole.encode()).hexdigest()[:8]}{ending}"
    stem = name.removesuffix(ending).encode()[: MAX_IDENTIFIER_BYTES - len(tail.encode())]
    return stem.decode(errors="ignore") + tail


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long versions that are no longer live stay: as long as either rule keeps them."""

    keep_for: timedelta = timedelta(days=7)
    keep_versions: int = 1

    def __post_init__(self) -> None:
        if self.keep_for < timedelta(0) or self.keep_versions < 0:
            raise ValueError("keep_for and keep_versions cannot be negative")


OnDependents = Literal["refuse", "carry"]
By = Literal["rename", "view"]
"""How readers get to the live version: it has the table's name, or the table's name is a view of it."""
Target = Literal["live", "shadow", "retired"]
"""What a load writes: what readers read, the version that is built, or the one that was live before."""


@dataclass(frozen=True, slots=True)
class Cutover:
    """What must hold before a version that loads have built is swapped in.

    All partitions of the live table must be there and validated, so must be its ``clean_intervals`` newest ones;
    ``max_row_change`` is the share by which its number of rows may differ, None for any. With ``compared`` they must
    have been held against the live table, too, and be as it is; the newest ones then are those that scheduled runs
    have loaded into both.
    """

    clean_intervals: int = 0
    max_row_change: float | None = None
    compared: bool = False


@dataclass(frozen=True, slots=True)
class SwapOrder:
    """A request: make a shadow the live table. Which one: by its name, by its number, or else the newest one built.

    ``allow_empty`` lets a shadow without rows take the place of a table that has some,
    ``allow_changes`` one whose columns or keys differ. ``gates`` are for versions that loads have built.
    ``on_dependents`` says what becomes of views and foreign keys of other tables that refer to the live table:
    nothing is swapped, or they refer to the new one. ``by`` None leaves it as it is how readers get to the table.
    ``partition`` is the key of the one partition whose child table is meant, in ``timezone``; once that is found, it is
    the live table, and ``within`` says of what table and which partition.
    ``keeping`` and ``rollback_window`` say how long it can be undone; None that nobody has said it.
    """

    live: Relation
    shadow: Relation | None = None
    version: int | None = None
    allow_empty: bool = False
    allow_changes: bool = False
    gates: Cutover | None = None
    by: By | None = None
    partition: str = ""
    timezone: str = "UTC"
    within: tuple[str, str] | None = None
    on_dependents: OnDependents = "refuse"
    timeouts: Timeouts = field(default_factory=Timeouts)
    keeping: Keeping | None = None
    rollback_window: timedelta | None = None

    @property
    def table(self) -> str:
        return str(self.live)


@dataclass(frozen=True, slots=True)
class RollbackOrder:
    """A request: make a version live again that was so before; by its number, else the one before this one.

    Where that would lose loads made since, nothing is done unless ``accept_loss`` says so.
    """

    live: Relation
    to: int | None = None
    on_dependents: OnDependents = "refuse"
    timeouts: Timeouts = field(default_factory=Timeouts)
    accept_loss: bool = False

    @property
    def table(self) -> str:
        return str(self.live)


@dataclass(frozen=True, slots=True)
class Swapped:
    """Proof of a swap: which version is live now, and where the one before it is kept.

    ``replayed`` means that it was so already, by the run named. ``held_ms`` is how long readers had to wait.
    ``way_back`` says how it can be undone, ``lost`` which partitions went back in time with a rollback.
    """

    table: str
    version: int
    retired_version: int
    retired: str
    run: str = ""
    recorded_at: datetime | None = None
    replayed: bool = False
    held_ms: float = 0.0
    notes: tuple[str, ...] = ()
    way_back: str = ""
    lost: tuple[str, ...] = ()

    def as_pointer(self) -> dict[str, Any]:
        """The small part that travels through XCom: plain JSON values."""
        return {
            "table": self.table,
            "version": self.version,
            "retired_version": self.retired_version,
            "retired": self.retired,
            "run": self.run,
            "recorded_at": self.recorded_at and self.recorded_at.isoformat(),
            "replayed": self.replayed,
            "held_ms": round(self.held_ms, 1),
            "notes": list(self.notes),
            "way_back": self.way_back,
            "lost": list(self.lost),
        }

"""Applying a stream of changes: rows that say of a key that it was written or deleted, and at which version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """How staged rows are read as events, and where the deleted keys are remembered.

    ``inserts``, ``updates`` and ``deletes`` are the codes of ``op_column``. ``key_before`` pairs columns of the key
    with those that hold their value before an update. ``unchanged_column`` lists columns whose value a row leaves out,
    ``unchanged_value`` stands in their place. ``sequence`` are columns of the batch alone that decide inside it, behind
    ``version``. ``soft`` keeps rows that are deleted.
    """

    staging: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...]
    tombstones: Relation
    op_column: str
    inserts: tuple[str, ...]
    updates: tuple[str, ...]
    deletes: tuple[str, ...]
    sequence: tuple[str, ...] = ()
    key_before: tuple[tuple[str, str], ...] = ()
    unchanged_column: str | None = None
    unchanged_value: str | None = None
    soft: bool = False

    @property
    def codes(self) -> tuple[str, ...]:
        """Every code that is understood."""
        return (*self.inserts, *self.updates, *self.deletes)

    @property
    def are_partial(self) -> bool:
        """Whether rows may leave values out."""
        return self.unchanged_column is not None or self.unchanged_value is not None

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that a row may leave out."""
        return tuple(name for name in self.columns if name not in (*self.unique_key, *self.version))


@dataclass(frozen=True, slots=True)
class EnsureTombstones:
    """Make the table beside the ledger that remembers which keys of ``target`` were deleted, and at which version.

    The target is left alone, and a table of tombstones that exists keeps its rows; its columns follow the types of
    the target. Idempotent because of that. ``expires`` adds the index by which old ones are found.
    """

    target: Relation
    tombstones: Relation
    unique_key: tuple[str, ...]
    version: tuple[str, ...]
    expires: bool = False


@dataclass(frozen=True, slots=True)
class InspectChanges:
    """Refuse a batch with codes in ``op_column`` that nobody has explained.

    The target is left alone. Idempotent because it only reads staging.
    """

    events: Events


@dataclass(frozen=True, slots=True)
class ResolveChanges:
    """Keep one event per key in ``winners``, the greatest, and show the rows among them in ``rows``.

    Staging and target are left alone. Idempotent because the order is total: version, then a row before a
    deletion, then the row's content.
    """

    events: Events
    winners: str
    rows: str


@dataclass(frozen=True, slots=True)
class KeepUnchanged:
    """Give the rows in ``winners`` the values they left out: those of the newest older row, in the batch or the target.

    The target is left alone. Idempotent because a second run finds in the target what the first one has kept.
    """

    target: Relation
    events: Events
    winners: str


@dataclass(frozen=True, slots=True)
class ApplyChanges:
    """Make ``target`` hold, per key, what the greatest event in ``winners`` says: its row, or none.

    Keys without an event are left alone. A deletion leaves a tombstone with its version; a row that is no older
    takes it away. Idempotent because only a greater event writes: a second run finds nothing greater, neither in the
    table nor among the tombstones. ``differing`` is a table for what is to be written, where that is looked for first.
    Tombstones older than ``ttl`` are forgotten. ``within`` is as in ``UpsertRows``.
    """

    target: Relation
    events: Events
    winners: str
    differing: str
    ttl: timedelta | None = None
    within: tuple[str, Partition] | None = None


ChangeAction = EnsureTombstones | InspectChanges | ResolveChanges | KeepUnchanged | ApplyChanges

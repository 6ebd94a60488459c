"""cdc: per key what the event of the greatest version says, deletions included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from airflow_idempotent.core.actions import (
    Action,
    ApplyChanges,
    EnsureTombstones,
    InspectChanges,
    KeepUnchanged,
    ResolveChanges,
)
from airflow_idempotent.core.actions.changes import Events
from airflow_idempotent.core.columns import DELETED, Column, TableShape
from airflow_idempotent.core.relation import Relation, short_name
from airflow_idempotent.core.staged import Numbered, Staged
from airflow_idempotent.strategies.strategy import Strategy

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def _codes(value: Any) -> Any:
    """A code alone, or a list of them; numbers are codes too."""
    codes = value if isinstance(value, list | tuple) else [value]
    return [str(code) if isinstance(code, int) and not isinstance(code, bool) else code for code in codes]


def _duration(value: Any) -> Any:
    """``30 days`` as a duration; ISO 8601 is left to pydantic."""
    if isinstance(value, str) and (found := re.fullmatch(r"(\d+) *(second|minute|hour|day|week)s?", value.strip())):
        return timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    return value


Codes = Annotated[tuple[str, ...], BeforeValidator(_codes)]


@dataclass(frozen=True, kw_only=True)
class OpMap:
    """Which codes of the op column mean what, compared exactly: I U D and r c u d when nothing else is said."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    insert: Codes = ("I", "c", "r")
    update: Codes = ("U", "u")
    delete: Codes = ("D", "d")


@dataclass(frozen=True, kw_only=True)
class Cdc(Strategy):
    """Apply a change stream: per key the event of the greatest version wins, whatever order events come in.

    A delete leaves a tombstone with its version, so that a late, older event cannot bring the row back. NULL is the
    lowest version. At equal versions the row wins over the delete, since a row replaced within one transaction is
    deleted and inserted at one commit version; a second version column (a sequence within the commit) decides exactly.

    `op_column` (`op`) names the column with the code, `op_map` says which codes mean `insert`, `update` and `delete`
    (I U D and r c u d); others refuse the batch. `delete: soft` keeps deleted rows, true in `_idem_deleted`.
    `tombstone_ttl` (`P30D`, `30 days`) forgets tombstones of that age; without it they are kept for ever.
    `key_before` (`{order_id: old_order_id}`) names columns with the key before an update. `unchanged_column` names a
    column that lists the columns which an event leaves out, `unchanged_value` is a text in their place.
    """

    kind: Literal["cdc"] = "cdc"
    op_column: str = "op"
    op_map: OpMap = OpMap()
    delete: Literal["hard", "soft"] = "hard"
    tombstone_ttl: Annotated[timedelta | None, BeforeValidator(_duration)] = None
    key_before: Mapping[str, str] = field(default_factory=dict)
    unchanged_column: str | None = None
    unchanged_value: str | None = None
    always_deduplicates: ClassVar[bool] = True
    needs: ClassVar = {
        "unique_key": "which columns tell which row is which?",
        "version": "which columns order two events of one key?",
    }

    @property
    def is_soft(self) -> bool:
        return self.delete == "soft"

    def moves(self, column: str) -> bool:
        return not (self.is_soft or self.key_before or self.unchanged_column or self.unchanged_value is not None)

    @property
    def orders_within_batch(self) -> bool:
        return not self.is_soft

    def problems(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        meanings = {name: getattr(self.op_map, name) for name in ("insert", "update", "delete")}
        codes = [code for listed in meanings.values() for code in listed]
        for code in sorted({code for code in codes if codes.count(code) > 1}):
            yield "strategy.op_map", f"code {code!r} is listed twice"
        for name in self.key_before:
            if name not in unique_key:
                yield f"strategy.key_before.{name}", f"column {name!r} is not in unique_key"
        if self.tombstone_ttl is not None and self.tombstone_ttl <= timedelta():
            yield "strategy.tombstone_ttl", "must be longer than nothing"

    def batch_only(self) -> tuple[Column, ...]:
        names = [self.op_column, *self.key_before.values(), *([self.unchanged_column] if self.unchanged_column else [])]
        return tuple(Column(name, "text") for name in dict.fromkeys(names))

    def own_columns(self, columns: Mapping[str, Column], version: tuple[str, ...]) -> tuple[Column, ...]:
        return (Column(DELETED, "boolean", nullable=False),) if self.is_soft else ()

    def defaults(self) -> tuple[tuple[str, str], ...]:
        return ((DELETED, "false"),) if self.is_soft else ()

    def is_exclusive(self, target: TableShape, unique_key: tuple[str, ...]) -> bool:
        """Always: a deletion writes where an insert of the same key does not look, so no index stops the two."""
        return True

    def says(self, target: Numbered, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Mapping[str, str]:
        ttl = self.tombstone_ttl
        age = "for ever" if ttl is None else f"for {ttl.days} days" if ttl == timedelta(ttl.days) else f"for {ttl}"
        side = tombstones_of(target, unique_key, version)
        kept = f"The version of each deletion is kept in {side} {age}"
        partial = "; for events that leave values out that holds of events in order only" if self._is_partial else ""
        return {
            "conflict": f"{', '.join(version)}: the greatest wins, NULL is lowest; at equal versions a row wins over a "
            "deletion, and of two rows the one with the greater content. So events may come in any order"
            f"{partial}: one that is older than the row of its key, or than its deletion, is stale. {kept}.",
            "re-run": "The same source gives the same batch, and loading it again writes nothing (0 inserted, updated, "
            "deleted), no tombstone either. Other keys are left alone.",
        }

    @property
    def _is_partial(self) -> bool:
        return self.unchanged_column is not None or self.unchanged_value is not None

    def made(
        self, target: Relation, unique_key: tuple[str, ...], version: tuple[str, ...], of: Numbered | None = None
    ) -> tuple[Action, ...]:
        tombstones = tombstones_of(of or Numbered(target), unique_key, version)
        return (EnsureTombstones(target, tombstones, unique_key, version, self.tombstone_ttl is not None),)

    def prepare(self, staged: Staged) -> tuple[Action, ...]:
        events = self.events_of(staged)
        found: list[Action] = [
            InspectChanges(events),
            ResolveChanges(events, staged.winners, self.checked_rows(staged)),
        ]
        if events.are_partial:
            found.append(KeepUnchanged(staged.target, events, staged.winners))
        return tuple(found)

    def checked_rows(self, staged: Staged) -> str:
        return f"{staged.winners}_rows"

    def write(self, staged: Staged) -> tuple[Action, ...]:
        events = self.events_of(staged)
        within = None if self.key_before else staged.within
        names = (staged.target, events, staged.winners, f"{staged.winners}_differing")
        return (ApplyChanges(*names, ttl=self.tombstone_ttl, within=within),)

    def events_of(self, staged: Staged) -> Events:
        """The rows of a batch, as the actions read them."""
        return Events(
            staging=staged.staging,
            columns=staged.columns,
            unique_key=staged.unique_key,
            version=staged.version,
            sequence=staged.sequence,
            tombstones=tombstones_of(staged.of or Numbered(staged.target), staged.unique_key, staged.version),
            op_column=self.op_column,
            inserts=self.op_map.insert,
            updates=self.op_map.update,
            deletes=self.op_map.delete,
            key_before=tuple(self.key_before.items()),
            unchanged_column=self.unchanged_column,
            unchanged_value=self.unchanged_value,
            soft=self.is_soft,
        )


def tombstones_of(target: Numbered, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Relation:
    """The table that remembers the deleted keys of a version of a table, for this key and these columns of versions."""
    name = short_name(tombstones_prefix(target), *unique_key, "by", *version)
    return Relation("airflow_idempotent", name)


def tombstones_prefix(target: Numbered) -> str:
    """How the names of all such tables of one version of a table begin."""
    return short_name("tombstones", str(target.live), str(target.number))

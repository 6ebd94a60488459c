"""What a write found to do, before it does it: nothing is written where nothing differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_idempotent.sql.statement import Statement


@dataclass(frozen=True, slots=True)
class Difference:
    """A write in three parts, so that a second run stops after the second.

    ``find`` makes temporary tables of what differs, and only reads the target. ``count`` asks them: rows of
    (effect, rows, beyond), where ``beyond`` of the rows belong to the table alone and are none of the batch.
    ``write`` are statements with the effect that each brings about, in order; one whose effect was not counted is
    left out, so that no trigger fires for nothing. ``counted`` when each of them touches as many rows as were counted,
    unless somebody else wrote in between.
    """

    find: tuple[Statement, ...]
    count: Statement
    write: tuple[tuple[str, Statement], ...]
    counted: bool = False

    def bound(self, values: Mapping[str, Any]) -> Difference:
        """With these values in the place of those of the same names."""
        find = tuple(statement.bound(values) for statement in self.find)
        write = tuple((effect, statement.bound(values)) for effect, statement in self.write)
        return replace(self, find=find, count=self.count.bound(values), write=write)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of it, in order."""
        return (*self.find, self.count, *(statement for _, statement in self.write))

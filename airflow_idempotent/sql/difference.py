"""What a write found to do, before it does it: nothing is written where nothing differs."""

from __future__ import annotations

from dataclasses import dataclass

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

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of it, in order."""
        return (*self.find, self.count, *(statement for _, statement in self.write))

"""Writing versions that stay, each with the interval in which it held."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_idempotent.core.relation import Relation


@dataclass(frozen=True, slots=True)
class RebuildIntervals:
    """Make ``target`` hold every version in ``source``, and give each row the interval in which it held.

    A row holds from its version to the next one of its key, whether that came in this batch or ever before; the
    newest one has no end. Keys that ``source`` lacks are left alone, and rows whose content and interval are right.
    Idempotent because intervals follow from the set of versions alone: a second run finds none that differs.
    ``source`` has one row per key and version; of two contents of one version the greater stays.
    """

    target: Relation
    source: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: str
    valid_from: str
    valid_to: str
    is_current: str | None = None

    @property
    def row_key(self) -> tuple[str, ...]:
        """What tells two rows of the table apart."""
        return (*self.unique_key, self.version)

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that no batch fills."""
        return (self.valid_from, self.valid_to, *((self.is_current,) if self.is_current else ()))

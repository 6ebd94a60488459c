"""A batch in staging, and the words by which a strategy writes it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation


class Scope(StrEnum):
    """What a batch speaks for: only the keys it holds, all of its partition, or the whole table.

    Where it speaks for more than its keys, what it lacks is gone, and an older batch has nothing to say.
    """

    KEYS = "keys"
    PARTITION = "partition"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Numbered:
    """A version of a table: what is kept beside it is named after these, since its own name changes with a swap."""

    live: Relation
    number: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """What a strategy knows of a batch. Columns are names, in the order of the target.

    ``staging`` holds the rows as they came, ``winners`` one row per key once ``Deduplicate`` has run;
    ``sequence`` are version columns that only the batch has: they decide inside it, behind ``version``.
    ``of`` is which version of the table the target is.
    ``deduplicated`` says whether it will. ``within`` is the partition column and the partition when all rows
    are known to lie in one child table. ``allows_empty`` when no rows are as good as any.
    """

    target: Relation
    staging: str
    winners: str
    columns: tuple[str, ...]
    unique_key: tuple[str, ...]
    version: tuple[str, ...]
    batch_id: str
    partition: Partition
    sequence: tuple[str, ...] = ()
    partition_column: str | None = None
    within: tuple[str, Partition] | None = None
    deduplicated: bool = False
    allows_empty: bool = False
    of: Numbered | None = None

    @property
    def source(self) -> str:
        """The table to write from."""
        return self.winners if self.deduplicated else self.staging

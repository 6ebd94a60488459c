"""Columns and tables as the catalogue describes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from airflow_idempotent.core.relation import Relation

BATCH_ID = "_idem_batch_id"
"""Column of the target that names the batch which wrote a row; tells nothing of the row's content."""

DELETED = "_idem_deleted"
"""Column of the target that is true of rows which are gone at the source."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``data_type`` is PostgreSQL's own spelling (``format_type``), e.g. ``numeric(12,2)``.

    ``writable`` is false for generated columns and identities that are always generated;
    ``deterministic`` for text whose collation takes different bytes for equal; ``domain_of`` the type that a domain
    is made from.
    """

    name: str
    data_type: str
    nullable: bool = True
    writable: bool = True
    deterministic: bool = True
    domain_of: str = ""

    @property
    def base_type(self) -> str:
        """The type without its modifiers: ``timestamp without time zone`` of ``timestamp(3) without time zone``."""
        return re.sub(r"\s*\([^)]*\)", "", self.data_type).strip()

    @property
    def scale(self) -> int | None:
        """Decimal places a numeric column keeps; None when it keeps all, or is not numeric."""
        return int(found[2] or 0) if (found := self._digits()) else None

    @property
    def greatest(self) -> Decimal | None:
        """The power of ten that values of a numeric column stay below; None when there is no limit."""
        return Decimal(10) ** (int(found[1]) - int(found[2] or 0)) if (found := self._digits()) else None

    def _digits(self) -> re.Match[str] | None:
        return re.fullmatch(
            r"(?:numeric|decimal)\s*\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)", self.domain_of or self.data_type, re.IGNORECASE
        )


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the catalogue says of a table: columns in order, and the column sets that are unique.

    ``unique_keys`` lists only indexes that can stop a second row of a key: valid, not partial,
    on plain columns, checked at once. ``intercepted`` tables have a trigger that may drop a row before
    it is written.
    """

    relation: Relation
    columns: tuple[Column, ...]
    unique_keys: tuple[frozenset[str], ...] = ()
    partitioned: bool = False
    intercepted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def __contains__(self, name: str) -> bool:
        return any(column.name == name for column in self.columns)

    def select(self, names: Iterable[str]) -> tuple[Column, ...]:
        """These columns, in the order given."""
        return tuple(self[name] for name in names)

    def is_unique(self, key: Iterable[str]) -> bool:
        """Whether the database itself refuses a second row of one key."""
        return frozenset(key) in self.unique_keys

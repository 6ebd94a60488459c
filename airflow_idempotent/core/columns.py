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

_NUMERIC = re.compile(r"(?:numeric|decimal)\s*\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)\s*(?:\[\])?", re.IGNORECASE)
_ROUNDING = re.compile(r"(numeric|decimal|timestamp|time|interval[a-z ]*?)\s*\([\d\s,-]+\)(.*)", re.IGNORECASE)


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
    def plain_type(self) -> str:
        """The type, or what a domain is made from."""
        return self.domain_of or self.data_type

    @property
    def is_array(self) -> bool:
        return self.plain_type.endswith("[]")

    @property
    def staged_type(self) -> str:
        """The type without the number of digits to which it would round a value unseen; most types have none."""
        found = _ROUNDING.fullmatch(self.plain_type)
        return f"{found[1]}{found[2]}" if found else self.data_type

    @property
    def rounds(self) -> bool:
        """Whether values with more digits are rounded: numbers and times with a precision, and arrays of them."""
        return _ROUNDING.fullmatch(self.plain_type) is not None

    @property
    def scale(self) -> int | None:
        """Decimal places that numbers keep, those of an array too; None when they keep all, or are none."""
        return int(found[2] or 0) if (found := _NUMERIC.fullmatch(self.plain_type)) else None

    @property
    def greatest(self) -> Decimal | None:
        """The power of ten that such numbers stay below; None when there is no limit."""
        found = _NUMERIC.fullmatch(self.plain_type)
        return Decimal(10) ** (int(found[1]) - int(found[2] or 0)) if found else None


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

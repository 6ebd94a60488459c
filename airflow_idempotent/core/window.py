"""Which rows of a source one batch of an incremental query holds, and how far that was complete."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

Position = datetime | int
"""A place on a cursor: an instant, or a number."""


def position_of(text: str) -> Position | None:
    """A place on a cursor as it is written down; None where none is."""
    if not text:
        return None
    return int(text) if re.fullmatch(r"-?\d+", text) else datetime.fromisoformat(text)


def position_text(position: Position | None) -> str:
    """The same the other way round: decimal, or ISO 8601 in UTC."""
    if position is None:
        return ""
    return str(position) if isinstance(position, int) else position.astimezone(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class Window:
    """Rows with ``low <= cursor < high``; instants are ISO 8601 texts in UTC, numbers decimal ones.

    ``read_at`` is when the source was read, by its own clock; rows dated after that are ``future_rows``,
    rows without a cursor ``null_rows``. ``watermark`` is the greatest cursor below which nothing can be
    missing; empty when no row was there, or when that cannot be told, as ``note`` then says. ``known_until`` is the
    watermark before: rows between ``low`` and it are mostly read again.
    """

    cursor: str
    low: str
    high: str
    read_at: str = ""
    watermark: str = ""
    null_rows: int = 0
    future_rows: int = 0
    note: str = ""
    known_until: str = ""

    @property
    def is_numbered(self) -> bool:
        """Whether its cursor is a number."""
        return isinstance(position_of(self.low), int)

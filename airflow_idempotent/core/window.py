"""Which rows of a source one batch of an incremental query holds, and how far that was complete."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Rows with ``low <= cursor < high``; all instants are ISO 8601 texts in UTC.

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

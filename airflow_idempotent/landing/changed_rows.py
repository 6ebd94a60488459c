"""Which rows differ between two landings of a query, by their keys. For small batches: both are held in memory."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

SAMPLED_BYTES = 4 << 20
"""Batches above this size are compared as a whole only."""
SHOWN = 5
Rows = dict[tuple[str, ...], set[tuple[str, ...]]]


def changed_rows(before: bytes, after: bytes, unique_key: Sequence[str]) -> tuple[str, ...]:
    """A line for each kind of change, with some keys; no other value is shown. Nothing where a key is no column."""
    old, new = _rows(before, unique_key), _rows(after, unique_key)
    if old is None or new is None:
        return ()
    kinds = {
        "rows new": [key for key in new if key not in old],
        "rows gone": [key for key in old if key not in new],
        "rows changed": [key for key in new if key in old and new[key] != old[key]],
    }
    return tuple(_lines(kinds, unique_key))


def _lines(kinds: dict[str, list[tuple[str, ...]]], unique_key: Sequence[str]) -> Iterator[str]:
    for kind, keys in kinds.items():
        if keys:
            shown = ", ".join(key[0] if len(key) == 1 else f"({', '.join(key)})" for key in sorted(keys)[:SHOWN])
            more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
            yield f"{len(keys)} {kind}, {', '.join(unique_key)}: {shown}{more}"


def _rows(text: bytes, unique_key: Sequence[str]) -> Rows | None:
    records = csv.reader(io.StringIO(text.decode(), newline=""))
    header = next(records, [])
    if any(name not in header for name in unique_key):
        return None
    places = [header.index(name) for name in unique_key]
    found: Rows = {}
    for record in records:
        if record:
            found.setdefault(tuple(record[place] for place in places), set()).add(tuple(record))
    return found

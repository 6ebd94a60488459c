"""Deduplication in plain Python: of the rows of each key the best one stays; a key with NULL in it is nobody's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tests.model.merge import Key, Row, Table


def deduplicated(rows: Sequence[Row], table: Table) -> list[Row]:
    """What is left of the rows, by the order of rows that ``table`` has."""
    by_key: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        by_key[table.key(row)].append(row)
    left: list[Row] = []
    for key, of_key in by_key.items():
        left += of_key if None in key else [max(of_key, key=table.rank)]
    return left

"""insert_only: the smallest version of a key, or without version the row that came first."""

from __future__ import annotations

from dataclasses import replace

from tests.laws.kinds.merge import COLUMNS, MERGE
from tests.model.insert_only import FirstSeen

INSERT_ONLY = replace(
    MERGE,
    words={"unique_key": ["shop", "sku"], "version": ["ver"], "strategy": "insert_only"},
    model=lambda: FirstSeen(COLUMNS, ("shop", "sku"), ("ver",)),
    story=(
        [MERGE.row(n, "x", 2, "first", "p") for n in (1, 2, 3)],
        [
            MERGE.row(1, "x", 1, "updated", "p"),
            MERGE.row(2, "x", 3, "stale", "p"),
            MERGE.row(3, "x", 2, "first", "p"),
            MERGE.row(4, "x", 1, "inserted", "p"),
            MERGE.row(4, "x", 2, "duplicate", "p"),
        ],
    ),
)

UNVERSIONED = replace(
    INSERT_ONLY,
    words={"unique_key": ["shop", "sku"], "strategy": "insert_only"},
    model=lambda: FirstSeen(COLUMNS, ("shop", "sku")),
    commutes=False,
)

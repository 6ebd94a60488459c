"""scd2: every version stays, and its interval follows from the others."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tests.laws.kinds.kind import Kind, built, texts
from tests.model.scd2 import History

COLUMNS = ("shop", "sku", "ver", "v")
_TABLE = "shop int, sku text, ver int, v text, valid_from int, valid_to int"

SCD2 = Kind(
    words={"unique_key": ["shop", "sku"], "version": ["ver"], "strategy": "scd2"},
    columns=COLUMNS,
    table_columns=(*COLUMNS, "valid_from", "valid_to"),
    layouts={
        "primary key": f"({_TABLE}, PRIMARY KEY (shop, sku, ver))",
        "no index": f"({_TABLE})",
        "by partitions": f"({_TABLE}, PRIMARY KEY (shop, sku, ver)) PARTITION BY RANGE (ver)",
    },
    children=(
        "CREATE TABLE {0}_p PARTITION OF {0} FOR VALUES FROM (0) TO (2)",
        "CREATE TABLE {0}_q PARTITION OF {0} DEFAULT",
    ),
    rows=lambda partition: built(COLUMNS, st.integers(0, 1), st.sampled_from(("x", "X")), st.integers(0, 4), texts()),
    model=lambda: History(COLUMNS, ("shop", "sku"), "ver"),
    story=(
        [
            dict(zip(COLUMNS, row, strict=True))
            for row in (
                (1, "x", 1, "closed later"),
                (1, "x", 5, "greatest"),
                (2, "x", 1, "a tie lost"),
                (3, "x", 1, "b"),
            )
        ],
        [
            dict(zip(COLUMNS, row, strict=True))
            for row in (
                (1, "x", 3, "splits"),
                (1, "x", 5, "greatest"),
                (2, "x", 1, "b tie won"),
                (3, "x", 1, "a stale"),
                (3, "x", 2, "inserted"),
                (3, "x", 2, "duplicate"),
            )
        ],
    ),
)

SCD2_CURRENT = replace(
    SCD2,
    words=SCD2.words | {"strategy": {"kind": "scd2", "is_current": "is_current"}},
    table_columns=(*SCD2.table_columns, "is_current"),
    layouts={"primary key": f"({_TABLE}, is_current boolean, PRIMARY KEY (shop, sku, ver))"},
    children=(),
    model=lambda: History(COLUMNS, ("shop", "sku"), "ver", has_current=True),
)

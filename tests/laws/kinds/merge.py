"""merge: the greatest version of a key."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.laws.kinds.kind import Kind, built, texts
from tests.model.merge import Table

COLUMNS = ("shop", "sku", "ver", "v", "d")

MERGE = Kind(
    words={"unique_key": ["shop", "sku"], "version": ["ver"], "strategy": "merge"},
    columns=COLUMNS,
    table_columns=COLUMNS,
    layouts={
        "primary key": "(shop int, sku text, ver int, v text, d text, PRIMARY KEY (shop, sku))",
        "no index": "(shop int, sku text, ver int, v text, d text)",
        "by partitions": "(shop int, sku text, ver int, v text, d text, UNIQUE (shop, sku, d)) PARTITION BY LIST (d)",
    },
    children=("CREATE TABLE {0}_p PARTITION OF {0} FOR VALUES IN ('p')", "CREATE TABLE {0}_q PARTITION OF {0} DEFAULT"),
    rows=lambda partition: built(
        COLUMNS,
        st.integers(0, 2),
        st.sampled_from(("x", "X")),
        st.none() | st.integers(0, 2),
        texts(),
        st.sampled_from(("p", "q")),
    ),
    model=lambda: Table(COLUMNS, ("shop", "sku"), ("ver",)),
    story=(
        [dict(zip(COLUMNS, (n, "x", 2, "first", "p"), strict=True)) for n in (1, 2, 3)],
        [
            dict(zip(COLUMNS, row, strict=True))
            for row in (
                (1, "x", 3, "updated", "p"),
                (2, "x", 1, "stale", "p"),
                (3, "x", 2, "first", "p"),
                (4, "x", 1, "inserted", "p"),
                (4, "x", 0, "duplicate", "p"),
            )
        ],
    ),
)

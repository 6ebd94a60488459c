"""merge with options: some columns only, and rows that a batch lacks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tests.laws.kinds.kind import PARTITIONS, Kind, built, texts
from tests.laws.kinds.merge import COLUMNS, MERGE
from tests.model.merge_options import Complete, Partial

UPDATE_COLUMNS = replace(
    MERGE,
    words=MERGE.words | {"strategy": {"kind": "merge", "merge_update_columns": ["v"]}},
    layouts={name: text for name, text in MERGE.layouts.items() if name != "by partitions"},
    model=lambda: Partial(COLUMNS, ("shop", "sku"), ("ver",), updates=("ver", "v")),
    commutes=False,  # of the columns that are not updated the first batch decides
)
_OF_PARTITIONS = ("shop", "d", "ver", "v")
_DAY = PARTITIONS[0]

ON_MISSING_DELETE = Kind(
    words={
        "unique_key": ["shop", "d"],
        "version": ["ver"],
        "partition_by": {"column": "d"},
        "strategy": {"kind": "merge", "on_missing": "delete"},
    },
    columns=_OF_PARTITIONS,
    table_columns=("shop", "d::text", "ver", "v"),
    layouts={
        "primary key": "(shop int, d date, ver int, v text, PRIMARY KEY (shop, d))",
        "no index": "(shop int, d date, ver int, v text)",
        "by partitions": "(shop int, d date, ver int, v text, PRIMARY KEY (shop, d)) PARTITION BY RANGE (d)",
    },
    children=(
        f"CREATE TABLE {{0}}_p PARTITION OF {{0}} FOR VALUES FROM ('{PARTITIONS[0]}') TO ('{PARTITIONS[1]}')",
        "CREATE TABLE {0}_q PARTITION OF {0} DEFAULT",
    ),
    rows=lambda partition: built(
        _OF_PARTITIONS, st.integers(0, 3), st.just(partition), st.none() | st.integers(0, 2), texts()
    ),
    model=lambda: Complete(_OF_PARTITIONS, ("shop", "d"), ("ver",), partition_column="d"),
    story=(
        [dict(zip(_OF_PARTITIONS, (n, _DAY, 2, "first"), strict=True)) for n in (1, 2, 3, 5)],
        [
            dict(zip(_OF_PARTITIONS, row, strict=True))
            for row in (
                (1, _DAY, 3, "updated"),
                (2, _DAY, 1, "stale"),
                (3, _DAY, 2, "first"),
                (4, _DAY, 1, "inserted"),
                (4, _DAY, 0, "duplicate"),
            )
        ],
    ),
    commutes=False,  # an older batch writes nothing, even where its versions are greater
)

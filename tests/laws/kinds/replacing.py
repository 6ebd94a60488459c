"""Strategies that replace a set of rows: a partition, what its batches wrote, the table, the rows of a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from tests.laws.kinds.kind import PARTITIONS, Kind, built, texts
from tests.model.merge import Row, Value
from tests.model.replace import Grouped, Marked, Scoped

COLUMNS = ("id", "ver", "v", "d")
_BODY = "(id int, ver int, v text, d date{})"
_CHILDREN = (
    "CREATE TABLE {0}_first PARTITION OF {0} FOR VALUES FROM ('2025-05-01') TO ('2025-05-02')",
    "CREATE TABLE {0}_rest PARTITION OF {0} DEFAULT",
)


def rows_of(partition: str) -> st.SearchStrategy[Row]:
    """Rows of that day."""
    return built(COLUMNS, st.integers(0, 3), st.none() | st.integers(0, 1), texts(), st.just(partition))


def rows_with_keys_of(partition: str) -> st.SearchStrategy[Row]:
    """Rows of that day, with keys that no other day has."""
    first = 10 * PARTITIONS.index(partition)
    return built(COLUMNS, st.integers(first, first + 3), st.none() | st.integers(0, 1), texts(), st.just(partition))


def rows(*values: Sequence[Value]) -> list[Row]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in values]


DAY = PARTITIONS[0]
STORY = (
    rows((1, 1, "first", DAY), (2, 1, "first", DAY), (3, 1, "first", DAY)),
    rows((1, 1, "changed", DAY), (2, 1, "first", DAY), (4, 1, "new", DAY), (4, 1, "new", DAY)),
)
PLAIN = {"no index": _BODY.format(""), "by days": _BODY.format("") + " PARTITION BY RANGE (d)"}


INSERT_OVERWRITE = Kind(
    words={"strategy": "insert_overwrite", "partition_by": {"column": "d"}},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=PLAIN,
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Scoped(COLUMNS),
    story=STORY,
)
INSERT_OVERWRITE_BY_KEY = Kind(
    words={
        "strategy": "insert_overwrite",
        "partition_by": {"column": "d"},
        "unique_key": ["id"],
        "version": ["ver"],
    },
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=PLAIN | {"unique": _BODY.format(", UNIQUE (id, d)"), "primary key": _BODY.format(", PRIMARY KEY (id)")},
    children=_CHILDREN,
    rows=rows_with_keys_of,
    model=lambda: Scoped(COLUMNS, ("id",), ("ver",)),
    story=STORY,
)
INSERT_OVERWRITE_ATTACH = replace(
    INSERT_OVERWRITE_BY_KEY,
    words=INSERT_OVERWRITE_BY_KEY.words
    | {"strategy": {"kind": "insert_overwrite", "method": "attach"}, "unique_key": ["id", "d"]},
    layouts={
        "by days": _BODY.format(", PRIMARY KEY (id, d)") + " PARTITION BY RANGE (d)",
        "no index": _BODY.format("") + " PARTITION BY RANGE (d)",
    },
    children=tuple(
        f"CREATE TABLE {{0}}_{number} PARTITION OF {{0}} FOR VALUES FROM ('{day}') TO (date '{day}' + 1)"
        for number, day in enumerate(PARTITIONS)
    ),
    model=lambda: Scoped(COLUMNS, ("id", "d"), ("ver",)),
    keeps_places=False,  # the whole child is another one
)
APPEND = Kind(
    words={"strategy": "append"},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=PLAIN | {"indexed": _BODY.format(", _idem_batch_id text")},
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Scoped(COLUMNS),
    story=STORY,
)
APPEND_BY_KEY = Kind(
    words={"strategy": "append", "unique_key": ["id"], "version": ["ver"]},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=PLAIN,
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Scoped(COLUMNS, ("id",), ("ver",)),
    story=STORY,
)
SNAPSHOT = Kind(
    words={"strategy": {"kind": "snapshot", "allow_empty": True}},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=PLAIN,
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Scoped(COLUMNS, of_table=True),
    story=STORY,
)
_KEYED = {"unique_key": ["id"], "version": ["ver"]}
_UNIQUE = {"primary key": _BODY.format(", PRIMARY KEY (id)"), **PLAIN}
SNAPSHOT_BY_KEY = Kind(
    words={"strategy": {"kind": "snapshot", "allow_empty": True}, **_KEYED},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=_UNIQUE,
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Scoped(COLUMNS, ("id",), ("ver",), of_table=True),
    story=STORY,
)
SNAPSHOT_KEEPS = Kind(
    words={"strategy": {"kind": "snapshot", "allow_empty": True, "on_missing": "keep"}, **_KEYED},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=_UNIQUE,
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Marked(COLUMNS, ("id",), ("ver",), keeps=True),
    story=STORY,
    commutes=False,
)
SNAPSHOT_MARKS = Kind(
    words={"strategy": {"kind": "snapshot", "allow_empty": True, "on_missing": "soft_delete"}, **_KEYED},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text", "_idem_deleted"),
    layouts={name: body.replace("d date", "d date, _idem_deleted boolean NOT NULL") for name, body in _UNIQUE.items()},
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Marked(COLUMNS, ("id",), ("ver",)),
    story=STORY,
    commutes=False,
)
DELETE_INSERT = Kind(
    words={"strategy": "delete_insert", **_KEYED},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=_UNIQUE,
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Grouped(COLUMNS, ("id",), ("ver",), merge_key=("id",)),
    story=(STORY[0], rows((1, 2, "changed", DAY), (2, 0, "stale", DAY), (3, 1, "first", DAY), (4, 1, "new", DAY))),
)
DELETE_INSERT_OF_LINES = Kind(
    words={"strategy": {"kind": "delete_insert", "merge_key": "id"}, "version": ["ver"]},
    columns=COLUMNS,
    table_columns=("id", "ver", "v", "d::text"),
    layouts=PLAIN,
    children=_CHILDREN,
    rows=rows_of,
    model=lambda: Grouped(COLUMNS, (), ("ver",), merge_key=("id",)),
    story=(STORY[0], rows((1, 2, "changed", DAY), (1, 2, "more", DAY), (2, 0, "stale", DAY), (4, 1, "new", DAY))),
)

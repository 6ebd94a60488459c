"""cdc: a change stream with deletions, ties and keys that change; once for each way of writing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.laws.kinds.kind import Kind, built, texts
from tests.model.cdc import Changes

TABLE = ("shop", "sku", "ver", "seq", "v", "d")
COLUMNS = ("op", "old_shop", *TABLE)
_BODY = "(shop int, sku text, ver int, seq int, v text, d text"
_STORY = (
    [("I", None, n, "x", 2, None, "first", "p") for n in (1, 2, 3, 4, 5)],
    [
        ("U", None, 1, "x", 3, 1, "updated", "p"),
        ("U", None, 2, "x", 1, 1, "stale", "p"),
        ("I", None, 3, "x", 2, None, "first", "p"),
        ("D", None, 4, "x", 3, 1, None, None),
        ("U", 5, 6, "x", 3, 1, "moved", "p"),
        ("I", None, 7, "x", 1, 1, "inserted", "p"),
        ("D", None, 7, "x", 0, 1, "duplicate", "p"),
        ("D", None, 8, "x", 1, 1, None, None),
    ],
)


def _kind(delete: str, *, before: Mapping[str, str]) -> Kind:
    soft = delete == "soft"
    flag = ", _idem_deleted boolean NOT NULL DEFAULT false" if soft else ""

    def rows(partition: str) -> st.SearchStrategy[Any]:
        versions = st.none() | st.integers(0, 2)
        return built(
            COLUMNS,
            st.sampled_from(("I", "U", "U", "D", "D")),
            st.none() | st.integers(0, 2),
            st.integers(0, 2),
            st.sampled_from(("x", "X")),
            versions,
            versions,
            texts(),
            st.sampled_from(("p", "q")),
        )

    return Kind(
        words={
            "unique_key": ["shop", "sku"],
            "version": ["ver", "seq"],
            "strategy": {"kind": "cdc", "delete": delete, "key_before": before},
            "on_schema_change": "ignore",
        },
        columns=COLUMNS,
        table_columns=(*TABLE, "_idem_deleted") if soft else TABLE,
        layouts={
            "primary key": f"{_BODY}{flag}, PRIMARY KEY (shop, sku))",
            "no index": f"{_BODY}{flag})",
            "by partitions": f"{_BODY}{flag}, UNIQUE (shop, sku, d)) PARTITION BY LIST (d)",
        },
        children=(
            "CREATE TABLE {0}_p PARTITION OF {0} FOR VALUES IN ('p')",
            "CREATE TABLE {0}_q PARTITION OF {0} DEFAULT",
        ),
        rows=rows,
        model=lambda: Changes(TABLE, ("shop", "sku"), ("ver", "seq"), soft=soft, before=before),
        story=tuple([dict(zip(COLUMNS, row, strict=True)) for row in batch] for batch in _STORY),  # type: ignore[arg-type]
    )


_BEFORE = {"shop": "old_shop"}
CDC, CDC_KEY_BEFORE, CDC_SOFT = _kind("hard", before={}), _kind("hard", before=_BEFORE), _kind("soft", before=_BEFORE)

"""What is asked for when duplicates are removed, and how the keys are cut into ranges."""

from __future__ import annotations

import json

import pytest

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.duplicates import Deduplicated, Deduplication, KeyRange, Survey
from airflow_idempotent.core.relation import Relation

ORDERS = Relation("public", "orders")


@pytest.mark.parametrize(
    ("rows", "indexed", "chunk_rows", "expected"),
    [
        (2_000_000, True, None, 10_000),
        (2_000_000, False, None, 20_000),
        (100, False, None, 10_000),
        (2_000_000, False, 7, 7),
    ],
)
def test_chunks_are_larger_where_each_reads_the_whole_table(
    rows: int, indexed: bool, chunk_rows: int | None, expected: int
) -> None:
    assert Deduplication(ORDERS, ("id",), (), chunk_rows).rows_per_chunk(rows, indexed=indexed) == expected


def test_ranges_cover_all_keys_once_and_know_what_lies_in_them() -> None:
    shape = TableShape(ORDERS, ())
    survey = Survey(shape, 100, 0, 9, 25, 10, True, ((10, ("3",)), (21, ("7",))))

    assert survey.ranges == (KeyRange(None, ("3",), 10), KeyRange(("3",), ("7",), 11), KeyRange(("7",), None, 4))
    assert Survey(shape, 100, 0, 0, 0, 10, True).ranges == ()
    assert Survey(shape, 100, 0, 1, 1, 10, True).ranges == (KeyRange(None, None, 1),)


def test_what_was_done_travels_as_plain_json() -> None:
    done = Deduplicated("public.orders", ("id",), (), 3, 0, 1, 1, removed=1, chunks=1)

    assert json.loads(json.dumps(done.as_pointer())) == done.as_pointer()
    assert done.as_pointer()["unique_key"] == ["id"]

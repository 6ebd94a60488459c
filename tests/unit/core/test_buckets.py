"""Buckets: their digests add up to that of the partition, and say where two states differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_idempotent.core.buckets import Buckets, Difference
from airflow_idempotent.engine.measuring import digest

ROWS = st.lists(st.tuples(st.integers(0, 7), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=40)


def cut(rows: list[tuple[int, int]], buckets: int = 8) -> Buckets:
    """What the database counts of rows of (bucket, hash)."""
    numbers = {number for number, _ in rows}
    found = [(n, sum(m == n for m, _ in rows), str(sum(h for m, h in rows if m == n))) for n in sorted(numbers)]
    return Buckets.read(["id"], buckets, found)


@given(ROWS)
def test_the_buckets_add_up_to_the_digest_of_all(rows: list[tuple[int, int]]) -> None:
    found = cut(rows)

    assert found.row_count == len(rows)
    assert digest(found.row_count, found.total) == digest(len(rows), str(sum(number for _, number in rows)))


@given(ROWS, st.randoms())
def test_the_order_of_rows_does_not_matter(rows: list[tuple[int, int]], chance: object) -> None:
    mixed = sorted(rows, key=lambda _: chance.random())  # type: ignore[attr-defined]

    assert cut(rows).differences(cut(mixed)) == ()


def test_a_difference_is_found_in_its_bucket() -> None:
    before = cut([(1, 10), (1, 11), (5, 12)])

    assert before.differences(cut([(1, 10), (1, 11), (5, 13)])) == (Difference(5, 1, 1),)
    assert before.differences(cut([(1, 10), (5, 12)])) == (Difference(1, 2, 1),)
    assert before.differences(cut([(1, 10), (1, 11), (5, 12), (7, 0)])) == (Difference(7, 0, 1),)


def test_buckets_that_are_cut_otherwise_are_not_compared() -> None:
    with pytest.raises(ValueError, match=r"8 buckets by \('id',\) cannot be compared with 4"):
        cut([]).differences(cut([], buckets=4))

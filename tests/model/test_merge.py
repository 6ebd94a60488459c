"""The model itself: small enough to be believed, and what it claims of order holds of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.model.merge import Row, Table

COLUMNS = ("id", "ver", "v")
ROWS = st.builds(
    lambda *values: dict(zip(COLUMNS, values, strict=True)),
    st.integers(0, 2),
    st.none() | st.integers(0, 2),
    st.none() | st.sampled_from(["", "a", "Z", "é"]),
)


def table() -> Table:
    return Table(COLUMNS, ["id"], ["ver"])


def test_the_greater_version_wins_and_null_is_lowest() -> None:
    found = table()

    assert found.load([{"id": 1, "ver": None, "v": "z"}, {"id": 1, "ver": 0, "v": "a"}])["duplicate"] == 1
    assert found.load([{"id": 1, "ver": None, "v": "z"}])["stale"] == 1
    assert found.load([{"id": 1, "ver": 1, "v": None}])["updated"] == 1
    assert found.in_order() == [(1, 1, None)]


def test_ties_are_decided_by_bytes_and_null_is_greatest() -> None:
    rising: list[Row] = [{"id": 1, "ver": 1, "v": v} for v in ("", "Z", "a", "é", None)]
    found = table()

    assert [found.load([row])["stale"] for row in rising] == [0] * 5
    assert [found.load([row])["updated"] for row in reversed(rising)] == [0] * 5


def test_without_version_the_newest_batch_of_a_partition_wins() -> None:
    found = Table(("id", "v"), ["id"])

    found.load([{"id": 1, "v": "new"}], partition="p", revision=2)
    effects = found.load([{"id": 1, "v": "old"}, {"id": 2, "v": "old"}], partition="p", revision=1)

    assert (effects["inserted"], effects["stale"]) == (1, 1)
    assert found.load([{"id": 1, "v": "other"}], partition="q", revision=1)["updated"] == 1


@given(st.lists(st.lists(ROWS, max_size=4), max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_batches_does_not_matter(batches: list[list[Row]], random: object) -> None:
    one, other = table(), table()
    for batch in batches:
        one.load(batch)
    shuffled = [*batches, *batches]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for batch in shuffled:
        other.load(batch)

    assert one.rows == other.rows


@given(st.lists(ROWS))
def test_every_row_of_a_batch_is_counted_once(batch: list[Row]) -> None:
    found = table()

    assert sum(found.load(batch).values()) == len(batch) == sum(found.load(batch).values())
    assert found.load(batch)["unchanged"] == len(found.rows)

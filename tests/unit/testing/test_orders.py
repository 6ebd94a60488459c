"""Orders, moments and chance: pure, complete where they can be, and the same for a seed."""

from __future__ import annotations

import pytest

from airflow_idempotent.testing.crashes import chosen, is_moment
from airflow_idempotent.testing.draw import Draw
from airflow_idempotent.testing.orders import orders, possible


@pytest.mark.parametrize("of", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("count", [1, 2, 6, 30])
def test_each_order_loads_every_batch_and_only_the_first_loads_each_once(count: int, of: int) -> None:
    found = orders(count, of)

    assert len(found) == min(count, possible(of))
    assert found[0] == tuple(range(of))
    for order in found[1:]:
        assert set(order) == set(range(of))
        assert len(order) > of


def test_all_orders_are_tried_where_there_are_not_more() -> None:
    once = {tuple(dict.fromkeys(order)) for order in orders(1000, 4)}

    assert len(orders(1000, 4)) == 24
    assert len(once) > 12  # a repetition may come before the place of the batch


def test_the_second_order_is_backwards() -> None:
    order = iter(orders(5, 6)[1])

    assert all(number in order for number in range(5, -1, -1))


def test_a_seed_gives_the_same_orders_and_another_one_others() -> None:
    assert orders(20, 7, seed=1) == orders(20, 7, seed=1) != orders(20, 7, seed=2)


def test_all_moments_are_cut_at_when_all_are_asked_for() -> None:
    assert chosen([3, 2], "all") == [[0, 1, 2], [0, 1]]
    assert chosen([3, 2], 100) == [[0, 1, 2], [0, 1]]
    assert chosen([3, 2], 0) == [[], []]


def test_those_around_the_commit_come_first() -> None:
    assert chosen([50, 40], 4) == [[48, 49], [38, 39]]
    assert sum(map(len, chosen([50, 40], 30))) == 30


def test_a_seed_gives_the_same_moments_and_another_one_others() -> None:
    assert chosen([50], 20, seed=1) == chosen([50], 20, seed=1) != chosen([50], 20, seed=2)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("before SELECT 1", True),
        ("after SELECT 1", False),
        ("chunk", True),
        ("after COMMIT", True),
        ("before COMMIT", True),
    ],
)
def test_what_follows_a_statement_is_what_precedes_the_next_one(event: str, expected: bool) -> None:
    assert is_moment(event) is expected


def test_chance_is_fair_and_stays_in_its_bounds() -> None:
    draw = Draw("x")

    assert {draw.below(3) for _ in range(100)} == {0, 1, 2}
    assert {draw.between(2, 4) for _ in range(100)} == {2, 3, 4}
    assert 200 < sum(draw.chance(0.25) for _ in range(1000)) < 300
    assert {draw.one_of("ab") for _ in range(50)} == {"a", "b"}
    assert sorted(draw.shuffled(range(10))) == list(range(10))


def test_chance_does_not_change_with_the_version_of_python() -> None:
    draw = Draw(1)

    assert [draw.below(1000) for _ in range(5)] == [478, 44, 117, 856, 292]

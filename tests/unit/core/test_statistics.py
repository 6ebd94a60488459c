"""PSI, chi-square and Kolmogorov-Smirnov against values of printed tables, and what must hold of any counts."""

from __future__ import annotations

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_idempotent.core.statistics import (
    chi_square,
    chi_square_tail,
    grouped,
    kolmogorov_smirnov,
    kolmogorov_tail,
    psi,
)

COUNTS = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=30).filter(
    lambda pairs: any(e for e, _ in pairs) and any(a for _, a in pairs)
)


@pytest.mark.parametrize(
    ("value", "degrees", "tail"),
    [
        # Critical values of the table in any textbook.
        (3.841, 1, 0.05),
        (6.635, 1, 0.01),
        (5.991, 2, 0.05),
        (18.307, 10, 0.05),
        (23.209, 10, 0.01),
        (29.588, 10, 0.001),
        (124.342, 100, 0.05),
        (3.940, 10, 0.95),
        (0.0, 3, 1.0),
        (5.0, 0, 1.0),
    ],
)
def test_chi_square_agrees_with_the_printed_table(value: float, degrees: int, tail: float) -> None:
    assert chi_square_tail(value, degrees) == pytest.approx(tail, abs=2e-4)


@pytest.mark.parametrize("value", [0.1, 1.0, 4.0, 30.0, 300.0])
def test_chi_square_of_two_degrees_is_an_exponential(value: float) -> None:
    assert chi_square_tail(value, 2) == pytest.approx(math.exp(-value / 2), rel=1e-9)


@pytest.mark.parametrize(
    ("value", "tail"),
    [(1.2238, 0.10), (1.3581, 0.05), (1.6276, 0.01), (1.9495, 0.001), (0.8276, 0.5), (0.0, 1.0), (0.2, 1.0)],
)
def test_kolmogorov_agrees_with_the_printed_table(value: float, tail: float) -> None:
    assert kolmogorov_tail(value) == pytest.approx(tail, abs=2e-4)


def test_both_series_of_kolmogorov_meet() -> None:
    assert kolmogorov_tail(1.18 - 1e-9) == pytest.approx(kolmogorov_tail(1.18), abs=1e-7)


def test_psi_of_an_example_worked_by_hand() -> None:
    expected = 0.1 * math.log(0.6 / 0.5) - 0.1 * math.log(0.4 / 0.5)

    assert psi([50, 50], [60, 40]) == pytest.approx(expected)
    assert psi([500, 500], [6, 4]) == pytest.approx(expected)


def test_an_empty_bin_counts_much_and_not_infinitely() -> None:
    assert 0.25 < psi([50, 50], [100, 0]) < 10


def test_chi_square_of_an_example_worked_by_hand() -> None:
    """The 2 x 2 table ((60, 40), (40, 60)): 200 (60*60 - 40*40)^2 / 100^4 = 8."""
    value, tail = chi_square([60, 40], [40, 60])

    assert (value, tail) == (pytest.approx(8.0), pytest.approx(0.0046777, abs=1e-6))


def test_chi_square_counts_sparse_bins_together() -> None:
    """Ten bins of one row each would speak of ten degrees of freedom that nobody has seen."""
    crowd, few = [1000] * 2, [1] * 10

    assert chi_square([*crowd, *few], [*crowd, *([0] * 10)])[1] == chi_square([*crowd, 10], [*crowd, 0])[1]


def test_kolmogorov_smirnov_is_the_greatest_distance_of_the_cumulated_shares() -> None:
    distance, tail = kolmogorov_smirnov([100, 100, 100, 100], [200, 100, 50, 50])

    assert distance == pytest.approx(0.25)
    assert tail < 1e-9


@pytest.mark.parametrize("compare", [psi, chi_square, kolmogorov_smirnov])
@pytest.mark.parametrize(("expected", "actual"), [([1], [1, 2]), ([0, 0], [1, 2]), ([1, 2], [0, 0])])
def test_what_cannot_be_compared_is_refused(compare: object, expected: list[int], actual: list[int]) -> None:
    with pytest.raises(ValueError, match=r"bins cannot be compared|no distribution"):
        compare(expected, actual)  # type: ignore[operator]


@given(COUNTS)
def test_equal_shares_are_no_difference_at_all(pairs: list[tuple[int, int]]) -> None:
    counts = [e for e, _ in pairs]
    thrice = [3 * count for count in counts]

    assert psi(counts, thrice) == pytest.approx(0, abs=1e-12)
    assert chi_square(counts, thrice)[1] == pytest.approx(1.0)
    assert kolmogorov_smirnov(counts, thrice) == (pytest.approx(0, abs=1e-12), 1.0)


@given(COUNTS)
def test_every_measure_has_its_bounds(pairs: list[tuple[int, int]]) -> None:
    expected, actual = [e for e, _ in pairs], [a for _, a in pairs]

    assert psi(expected, actual) >= -1e-12
    assert psi(expected, actual) == pytest.approx(psi(actual, expected), abs=1e-9)
    for value, tail in (chi_square(expected, actual), kolmogorov_smirnov(expected, actual)):
        assert value >= 0
        assert 0 <= tail <= 1


@given(COUNTS, st.integers(1, 12))
def test_groups_lose_no_row_and_only_cut_between_bins(pairs: list[tuple[int, int]], groups: int) -> None:
    expected, actual = [e for e, _ in pairs], [a for _, a in pairs]

    few_expected, few_actual = grouped(expected, actual, groups)

    assert 1 <= len(few_expected) == len(few_actual) <= groups
    assert all(few_expected)
    cumulated = set(zip(accumulate(expected), accumulate(actual), strict=True)) | {(sum(expected), sum(actual))}
    assert set(zip(accumulate(few_expected), accumulate(few_actual), strict=True)) <= cumulated

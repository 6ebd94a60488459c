"""How different two samples are: PSI, chi-square and Kolmogorov-Smirnov of counts in bins. Plain formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

EMPTY_SHARE = 0.0001
"""What stands for the share of an empty bin, whose logarithm has no value."""

SPARSE = 5.0
"""Rows that must be expected of a bin before chi-square may trust it (Cochran 1954)."""

_TINY = 1e-300
_CLOSE = 1e-15
_MOST_TERMS = 10_000


def psi(expected: Sequence[int], actual: Sequence[int]) -> float:
    """Population stability index of counts in the same bins: 0 when the shares are equal, without upper bound.

    The sum of ``(a - e) * ln(a / e)`` over the shares. Below 0.1 little has moved, above 0.25 much has
    (N. Siddiqi, Credit Risk Scorecards, 2006, ch. 9).

    Raises:
        ValueError: a side has no rows, or the bins are not the same.
    """
    total_expected, total_actual = _totals(expected, actual)
    pairs = (
        (max(e / total_expected, EMPTY_SHARE), max(a / total_actual, EMPTY_SHARE))
        for e, a in zip(expected, actual, strict=True)
    )
    return math.fsum((a - e) * math.log(a / e) for e, a in pairs)


def chi_square(expected: Sequence[int], actual: Sequence[int]) -> tuple[float, float]:
    """Chi-square of two samples that were counted in the same bins, and its p value: how likely chance alone is.

    For samples of unequal size (Press et al., Numerical Recipes, 3rd ed. 2007, eq. 14.3.3). Bins too sparse
    for the approximation are counted together.

    Raises:
        ValueError: a side has no rows, or the bins are not the same.
    """
    total_expected, total_actual = _totals(expected, actual)
    pairs = _dense(list(zip(expected, actual, strict=True)), total_expected, total_actual)
    weight = math.sqrt(total_actual / total_expected)
    found = math.fsum((weight * e - a / weight) ** 2 / (e + a) for e, a in pairs)
    return found, chi_square_tail(found, len(pairs) - 1)


def kolmogorov_smirnov(expected: Sequence[int], actual: Sequence[int]) -> tuple[float, float]:
    """The greatest distance of two cumulated distributions, looked at where bins meet, and its p value.

    Inside a bin the distance may be greater, so that the p value is never too small. Bins are in order.
    Series and correction for small samples: M. A. Stephens, J. Royal Stat. Soc. B 32 (1970) 115.

    Raises:
        ValueError: a side has no rows, or the bins are not the same.
    """
    total_expected, total_actual = _totals(expected, actual)
    distance = max(
        abs(e / total_expected - a / total_actual)
        for e, a in zip(accumulate(expected), accumulate(actual), strict=True)
    )
    root = math.sqrt(total_expected * total_actual / (total_expected + total_actual))
    return distance, kolmogorov_tail((root + 0.12 + 0.11 / root) * distance)


def chi_square_tail(value: float, degrees: int) -> float:
    """How likely chi-square with so many degrees of freedom is at least ``value``; 1 where there is no freedom.

    The upper incomplete gamma function (Abramowitz & Stegun 1964, 6.5.29 and 6.5.31, 26.4.19).
    """
    if degrees < 1 or value <= 0:
        return 1.0
    a, x = degrees / 2, value / 2
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    found = 1.0 - scale * _series(a, x) if x < a + 1 else scale * _fraction(a, x)
    return min(max(found, 0.0), 1.0)


def kolmogorov_tail(value: float) -> float:
    """How likely Kolmogorov's statistic is at least ``value``."""
    if value <= 0:
        return 1.0
    if value < 1.18:  # here the other form of the series needs fewer terms
        step = math.pi**2 / (8 * value**2)
        below = math.sqrt(2 * math.pi) / value * math.fsum(math.exp(-((2 * j - 1) ** 2) * step) for j in range(1, 6))
        return min(max(1.0 - below, 0.0), 1.0)
    found = 2 * math.fsum((-1) ** (j - 1) * math.exp(-2 * j**2 * value**2) for j in range(1, 8))
    return min(max(found, 0.0), 1.0)


def grouped(expected: Sequence[int], actual: Sequence[int], groups: int = 10) -> tuple[list[int], list[int]]:
    """Neighbouring bins put together into at most so many, each with about as many of the expected rows."""
    total, seen = sum(expected), 0
    found: list[list[int]] = [[0, 0]]
    for e, a in zip(expected, actual, strict=True):
        if seen * groups >= total * len(found) and found[-1][0]:
            found.append([0, 0])
        found[-1][0] += e
        found[-1][1] += a
        seen += e
    if len(found) > 1 and not found[-1][0]:
        last = found.pop()
        found[-1][1] += last[1]
    return [e for e, _ in found], [a for _, a in found]


def _totals(expected: Sequence[int], actual: Sequence[int]) -> tuple[int, int]:
    if len(expected) != len(actual):
        raise ValueError(f"{len(expected)} bins cannot be compared with {len(actual)}")
    totals = sum(expected), sum(actual)
    if not all(totals):
        raise ValueError("a side without rows has no distribution")
    return totals


def _dense(pairs: list[tuple[int, int]], total_expected: int, total_actual: int) -> list[tuple[int, int]]:
    """The bins without those that nobody is in; those of which too few rows are expected as one."""
    smaller = min(total_expected, total_actual) / (total_expected + total_actual)
    dense = [(e, a) for e, a in pairs if (e + a) * smaller >= SPARSE]
    rest = [(e, a) for e, a in pairs if 0 < (e + a) * smaller < SPARSE]
    if rest:
        dense.append((sum(e for e, _ in rest), sum(a for _, a in rest)))
    return dense


def _series(a: float, x: float) -> float:
    """The lower incomplete gamma function without its scale, as a power series."""
    term = total = 1.0 / a
    for number in range(1, _MOST_TERMS):
        term *= x / (a + number)
        total += term
        if term < total * _CLOSE:
            break
    return total


def _fraction(a: float, x: float) -> float:
    """The upper incomplete gamma function without its scale, as a continued fraction (W. J. Lentz 1976)."""
    b = x + 1.0 - a
    c, d = 1.0 / _TINY, 1.0 / b
    found = d
    for number in range(1, _MOST_TERMS):
        factor = -number * (number - a)
        b += 2.0
        d = 1.0 / (_away(factor * d + b))
        c = _away(b + factor / c)
        found *= c * d
        if abs(c * d - 1.0) < _CLOSE:
            break
    return found


def _away(value: float) -> float:
    """The value, or one next to zero that can be divided by."""
    return value if abs(value) > _TINY else _TINY

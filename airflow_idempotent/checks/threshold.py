"""Thresholds: how many violations are too many, in dbt's words."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

_WRITTEN = re.compile(r"\s*(<=|>=|!=|<>|==|=|<|>)\s*(\d+(?:\.\d+)?)\s*(%?)\s*")
_COMPARE: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A comparison with the number of violations: ``>10``, ``!=0``; with ``%`` their share of the rows looked at."""

    compare: str
    bound: Decimal
    of_rows: bool = False

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Read a threshold.

        Raises:
            ValueError: it is none.
        """
        found = _WRITTEN.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r} is no threshold, write it like '>10', '!=0' or '>1%'")
        return cls(found[1], Decimal(found[2]), bool(found[3]))

    def reached(self, violations: int, rows: int) -> bool:
        """Whether so many violations among so many rows are meant; a share of no rows is none."""
        if self.of_rows and not rows:
            return False
        measured = Decimal(violations) * 100 / rows if self.of_rows else Decimal(violations)
        return _COMPARE[self.compare](measured, self.bound)

"""diff: row by row the same as another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from airflow_idempotent.checks.against import NotComparable, other_table, rows_of, shape_of
from airflow_idempotent.checks.check import Check, Inquiry, Question, Rows
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.checks.pairing import Pairing, repeated, shown_key
from airflow_idempotent.core.columns import BATCH_ID, TableShape
from airflow_idempotent.core.profile import is_number
from airflow_idempotent.core.verdict import CheckResult

SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Diff(Check):
    """The partition has the same rows as in the table ``against``: another version of it, or where it came from.

    Rows are paired by ``key``, the spec's unique key when it is left out; a key that is not unique on both sides is
    refused. All columns that both tables have are compared, or only ``columns``, or all but ``exclude_columns``.
    Numbers may differ by ``tolerance``: one for all, or a mapping of columns.

    Raises:
        ValueError: no table is named, or the options contradict each other.
    """

    kind: ClassVar[str] = "diff"
    shorthand: ClassVar[str] = "against"
    counts_rows: ClassVar[bool] = True
    against: str
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    tolerance: float | Mapping[str, float] = field(default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        other_table(self.against)
        if self.columns and self.exclude_columns:
            raise ValueError("give columns or exclude_columns, not both")
        bounds = self.tolerance.values() if isinstance(self.tolerance, Mapping) else (self.tolerance,)
        if any(bound < 0 for bound in bounds):
            raise ValueError("tolerance is 0 or more")

    def __hash__(self) -> int:
        return hash((self.label, self.key, self.columns, self.exclude_columns))

    @property
    def label(self) -> str:
        return self.named(f"against {other_table(self.against)}", *self.columns)

    @property
    def columns_used(self) -> Sequence[str]:
        named = self.tolerance if isinstance(self.tolerance, Mapping) else ()
        used = (*self.key, *self.columns, *self.exclude_columns, *named, *super().columns_used)
        return tuple(dict.fromkeys(used))

    @property
    def tables_used(self) -> tuple[str, ...]:
        return (other_table(self.against),)

    def inquire(self, rows: Rows, seen: Seen) -> Inquiry:
        """Whether the key is one, how many rows differ, and a few of them."""
        try:
            pairing, binds = self._pairing(rows, seen.facts)
        except NotComparable as reason:
            return self.result(True, f"not compared: {reason}", None, seen.rows)
        sides = [("here", pairing.here, pairing.shape), (other_table(self.against), pairing.there, pairing.other)]
        for name, side, shape in sides:
            if side is not pairing.here and shape.is_unique(pairing.key) and _never_null(pairing.key, shape):
                continue
            if found := (yield Question(repeated(side, pairing.key), binds)):
                told = ", ".join(shown_key(values) for values in found)
                message = f"not compared: key ({', '.join(pairing.key)}) is not unique {_where(name)}, e.g. {told}"
                return self.result(True, message, None, seen.rows)
        [counts] = yield Question(pairing.counts(), binds)
        only_here, only_there, _both, differing = counts[:4]
        result = self._told(pairing, counts, seen)
        if only_here or only_there or differing:
            examples = yield Question(pairing.examples(SHOWN), binds)
            result = replace(result, samples=tuple(_example(row, len(pairing.key)) for row in examples))
        return result

    def judge(self, seen: Seen) -> CheckResult:
        raise NotImplementedError("diff is answered by its own queries")

    def _told(self, pairing: Pairing, counts: Sequence[int], seen: Seen) -> CheckResult:
        only_here, only_there, both, differing = counts[:4]
        message = f"{only_here:,} rows only here, {only_there:,} only there, {differing:,} of {both:,} differ"
        told = [f"{name} {n:,}" for name, n in zip(pairing.columns, counts[4:], strict=True) if n]
        message += f" ({', '.join(told)})" if told else ""
        return self.counted(only_here + only_there + differing, message, only_here + only_there + both)

    def _pairing(self, rows: Rows, facts: Facts) -> tuple[Pairing, dict[str, Any]]:
        """What is compared with what.

        Raises:
            NotComparable: there is no key, no such table, or a column is missing in one of them.
        """
        other = shape_of(self.against, facts)
        key = self.key or facts.unique_key
        if not key:
            raise NotComparable("the table has no unique_key, name the columns that tell rows apart as 'key'")
        mine = [name for name in facts.columns if name not in (*key, *self.exclude_columns, BATCH_ID)]
        columns = self.columns or tuple(name for name in mine if name in other)
        if missing := [name for name in (*key, *columns) if name not in other]:
            raise NotComparable(f"{other.relation} has no column {missing[0]!r}")
        there, binds = rows_of(other, facts, self.where)
        pairing = Pairing(rows, there, key, columns, facts.shape, other, self._tolerances(columns, facts.shape))
        return pairing, binds

    def _tolerances(self, columns: Sequence[str], shape: TableShape) -> Mapping[str, float]:
        if isinstance(self.tolerance, Mapping):
            return self.tolerance
        return {name: self.tolerance for name in columns if self.tolerance and is_number(shape[name])}


def _never_null(key: Sequence[str], shape: TableShape) -> bool:
    return not any(item.nullable for item in shape.select(key))


def _where(name: str) -> str:
    return name if name == "here" else f"in {name}"


def _example(row: Sequence[Any], keys: int) -> str:
    """One key and what is the matter with it."""
    here, there, name = row[keys:]
    what = f"{name} differs" if here and there else "only here" if here else "only there"
    return f"{shown_key(row[:keys])} {what}"

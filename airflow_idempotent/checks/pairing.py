"""Two sets of rows laid side by side by their key: rows that only one has, and columns that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_idempotent.checks.hashing import HASHED, bucket_of
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.profile import is_number

Rows = exp.Table | exp.Subquery
HERE, THERE = "idem_here", "idem_there"
_TIMES = {"date", "timestamp without time zone", "timestamp with time zone"}
"""Types that PostgreSQL compares with each other, in the zone of the session, which is UTC."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Rows ``here`` and ``there``, which one is which by ``key``, and the ``columns`` that are compared.

    ``tolerance`` is how far numbers of a column may be apart, ``share`` the part of the value there by which they may;
    the wider of the two counts. ``within`` are buckets of keys, of so many, to which
    the comparison is limited.
    """

    here: Rows
    there: Rows
    key: tuple[str, ...]
    columns: tuple[str, ...]
    shape: TableShape
    other: TableShape
    tolerance: Mapping[str, float] = field(default_factory=dict)
    within: tuple[Sequence[int], int] | None = None
    share: Mapping[str, float] = field(default_factory=dict)

    def counts(self) -> exp.Select:
        """One row: keys only here, only there, in both, in both but different; then how often each column differs."""
        differs = [_named(f"d{number}") for number in range(len(self.columns))]
        any_differs = exp.or_(*(item.copy() for item in differs)) if differs else exp.false()
        only_here, only_there = _named(THERE).is_(exp.null()), _named(HERE).is_(exp.null())
        both = exp.and_(exp.not_(_named(HERE).is_(exp.null())), exp.not_(_named(THERE).is_(exp.null())))
        conditions = [only_here, only_there, both, any_differs, *differs]
        return exp.select(*(_count(condition) for condition in conditions)).from_(self._pairs())

    def examples(self, limit: int) -> exp.Select:
        """A few keys with what is the matter: the key's columns, whether it is here, whether there, the column."""
        keys = [_named(f"k{number}") for number in range(len(self.key))]
        differs = [_named(f"d{number}") for number in range(len(self.columns))]
        first = exp.case()
        for item, name in zip(differs, self.columns, strict=True):
            first = first.when(item.copy(), exp.Literal.string(name))
        odd = [_named(side).is_(exp.null()) for side in (HERE, THERE)]
        shown = _as_texts(keys)
        what = [exp.not_(_named(side).is_(exp.null())) for side in (HERE, THERE)]
        named = exp.cast(first if differs else exp.null(), "text")
        order = [exp.Ordered(this=key.copy(), nulls_first=False) for key in keys]
        found = exp.select(*shown, *what, named).from_(self._pairs()).where(exp.or_(*odd, *differs))
        return found.order_by(*order).limit(limit)

    def _pairs(self) -> exp.Subquery:
        on = exp.and_(*(_equal(f"k{number}") for number in range(len(self.key))))
        values: list[exp.Expr] = [
            exp.alias_(exp.func("coalesce", _named(f"k{n}", "h"), _named(f"k{n}", "t")), f"k{n}", quoted=True)
            for n in range(len(self.key))
        ]
        values += [_named(HERE, "h"), _named(THERE, "t")]
        both = exp.and_(_named(HERE, "h"), _named(THERE, "t"))
        for number, name in enumerate(self.columns):
            apart = exp.and_(both.copy(), self._differs(number, name))
            values.append(exp.alias_(apart, f"d{number}", quoted=True))
        joined = exp.select(*values).from_(self._side(self.here, self.shape, HERE, "h"))
        return joined.join(self._side(self.there, self.other, THERE, "t"), on=on, join_type="full").subquery(
            exp.to_identifier("pairs", quoted=True)
        )

    def _side(self, rows: Rows, shape: TableShape, mark: str, alias: str) -> exp.Subquery:
        values = [exp.alias_(_named(name), f"k{number}", quoted=True) for number, name in enumerate(self.key)]
        values += [exp.alias_(self._compared(name, shape), f"c{n}", quoted=True) for n, name in enumerate(self.columns)]
        found = exp.select(*values, exp.alias_(exp.true(), mark, quoted=True)).from_(rows.copy())
        if self.within:
            wanted, of_so_many = self.within
            numbers = [exp.Literal.number(number) for number in wanted]
            found = found.where(exp.In(this=bucket_of(self.key, shape, of_so_many), expressions=numbers))
        return found.subquery(exp.to_identifier(alias, quoted=True))

    def _compared(self, name: str, shape: TableShape) -> exp.Expr:
        """A column as both sides can be compared: as it is where the types are alike, else as text."""
        mine, others = self.shape[name], self.other[name]
        alike = mine.base_type == others.base_type and mine.base_type in HASHED
        numbers = is_number(mine) and is_number(others)
        times = {mine.base_type, others.base_type} <= _TIMES
        return _named(name) if alike or numbers or times else exp.cast(_named(name), "text")

    def _differs(self, number: int, name: str) -> exp.Expr:
        mine, others = _named(f"c{number}", "h"), _named(f"c{number}", "t")
        distinct = exp.NullSafeNEQ(this=mine, expression=others)
        tolerance, share = self.tolerance.get(name), self.share.get(name)
        bounded = tolerance is not None or share is not None
        if not bounded or not (is_number(self.shape[name]) and is_number(self.other[name])):
            return distinct
        apart = exp.Abs(this=exp.Sub(this=mine.copy(), expression=others.copy()))
        most: exp.Expr = exp.Literal.number(repr(tolerance or 0.0 if share is not None else tolerance))
        if share is not None:
            part = exp.Mul(this=exp.Literal.number(repr(share)), expression=exp.Abs(this=others.copy()))
            most = exp.func("greatest", most, part)
        beyond = exp.GT(this=apart, expression=most)
        # NULL on one side is a difference; so is NaN, which is above everything.
        return exp.and_(distinct, exp.func("coalesce", beyond, exp.true()))


def repeated(rows: Rows, key: Sequence[str], limit: int = 3) -> exp.Select:
    """A few values of the key, as text, that more than one row has, or in which NULL stands."""
    keys = [_named(name) for name in key]
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    broken = exp.or_(many, *(item.copy().is_(exp.null()) for item in keys))
    order = [exp.Ordered(this=item.copy(), nulls_first=False) for item in keys]
    return exp.select(*_as_texts(keys)).from_(rows.copy()).group_by(*keys).having(broken).order_by(*order).limit(limit)


def shown_key(values: Sequence[str | None]) -> str:
    """A key for people."""
    texts = ["NULL" if value is None else value for value in values]
    return f"({', '.join(texts)})" if len(texts) > 1 else texts[0]


def _as_texts(keys: Sequence[exp.Column]) -> list[exp.Expr]:
    """Columns for people, under other names: ORDER BY would sort by these texts."""
    return [exp.alias_(exp.cast(key.copy(), "text"), f"text{n}", quoted=True) for n, key in enumerate(keys)]


def _equal(name: str) -> exp.Expr:
    return exp.EQ(this=_named(name, "h"), expression=_named(name, "t"))


def _named(name: str, of: str | None = None) -> exp.Column:
    return exp.column(name, table=of, quoted=True)


def _count(condition: exp.Expr) -> exp.Expr:
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=condition.copy()))

"""Checks as SQL: everything that can share a scan shares one, keys that must not repeat share a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from airflow_idempotent.checks import Check, Unique
from airflow_idempotent.checks.check import IsNaN, Question, Rows, any_null, count_where
from airflow_idempotent.checks.condition import condition
from airflow_idempotent.checks.facts import Facts, Seen
from airflow_idempotent.checks.hashing import HASHED, row_hash
from airflow_idempotent.core.actions import RunChecks
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.sql.asked import asked, shown
from airflow_idempotent.sql.measure import bounds, partition_rows
from airflow_idempotent.sql.statement import Statement, column, quoted, table

SAMPLES = 5
WITH_NAN = {"numeric", "real", "double precision"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where checks look: ``rows`` with their ``binds``, and ``shown``, the rows where anybody can look again.

    They have the columns of a table of that ``shape``. ``proven`` are sets of columns that are known to be unique in
    them, with the reason.
    """

    rows: Rows
    binds: Mapping[str, Any] = field(default_factory=dict)
    shown: Rows | None = None
    shown_binds: Mapping[str, Any] = field(default_factory=dict)
    proven: tuple[tuple[frozenset[str], str], ...] = ()
    shape: TableShape | None = None

    def typed(self, tree: exp.Expr) -> exp.Expr:
        """The same with the question for NaN answered by the type of the column."""
        return tree.transform(lambda node: self._is_nan(node.this) if isinstance(node, IsNaN) else node)

    def _is_nan(self, name: exp.Expr) -> exp.Expr:
        found = self.shape[name.name] if self.shape and name.name in self.shape else None
        if found and (found.domain_of or found.base_type) in WITH_NAN:
            return exp.EQ(this=name.copy(), expression=exp.Literal.string("NaN"))
        return exp.false()

    def has_hash(self, name: str) -> bool:
        """Whether values of the column that are equal have one hash."""
        found = self.shape[name] if self.shape and name in self.shape else None
        return found is not None and found.deterministic and found.base_type in HASHED

    def proof(self, check: Unique) -> str:
        """Why no two rows can share the columns; empty when they may."""
        return next((reason for key, reason in self.proven if key <= {*check.columns}), "")


def run_checks(action: RunChecks, target: TableShape) -> tuple[Statement, ...]:
    """The scans that the checks before the gate share; what facts give is not bound yet."""
    place = Place(table(action.rows), proven=_proven(action), shape=target)
    keys = counted_keys(action.answerable, place)
    of_keys = distinct_keys(keys, place) or repeated_keys(keys, place)
    return (shared_scan(action.answerable, place), *([of_keys] if of_keys else []))


def staged_place(action: RunChecks, target: TableShape, partition: Partition) -> Place:
    """The rows before the gate. Afterwards they can be looked at in the table, where they will have been published."""
    after = target_place(target, action.partition_column, partition)
    return Place(table(action.rows), {}, after.rows, after.binds, _proven(action), target)


def target_place(target: TableShape, by: str | None, partition: Partition) -> Place:
    """The partition as readers see it, or the whole table where no column says what belongs to it."""
    proven = tuple((key, "an index keeps it so") for key in target.unique_keys if not _may_be_null(key, target))
    if by is None:
        return Place(table(target.relation), proven=proven, shape=target)
    return Place(partition_rows(target, by), bounds(partition, target[by]), proven=proven, shape=target)


def _proven(action: RunChecks) -> tuple[tuple[frozenset[str], str], ...]:
    return ((frozenset(action.unique), "duplicates were removed before"),) if action.unique else ()


def _may_be_null(key: Iterable[str], target: TableShape) -> bool:
    """Whether an index of that key lets rows repeat: it takes NULLs for different."""
    return any(item.nullable for item in target.select(key))


def shared_scan(checks: Sequence[Check], place: Place, facts: Facts | None = None) -> Statement:
    """One row: for each check the number of rows that its ``where`` lets through, then its aggregates."""
    selected: list[exp.Expr] = []
    binds = dict(place.binds)
    for number, check in enumerate(checks):
        selected += [_named_apart(tree, number) for tree in _aggregates(check)]
        binds |= {f"c{number}_{name}": value for name, value in (check.binds(facts) if facts else {}).items()}
    return asked(place.typed(exp.select(*selected).from_(place.rows.copy())), binds)


def read_shared(checks: Sequence[Check], row: Sequence[Any], facts: Facts) -> list[Seen]:
    """What the shared scan saw, check by check."""
    found, values = [], iter(row)
    for check in checks:
        rows = int(next(values))
        found.append(Seen(rows, tuple(next(values) for _ in check.aggregates()), facts))
    return found


def counted_keys(checks: Sequence[Check], place: Place) -> list[Unique]:
    """The checks whose keys have to be counted."""
    return [check for check in checks if isinstance(check, Unique) and not place.proof(check)]


def distinct_keys(keys: Sequence[Unique], place: Place) -> Statement | None:
    """One scan, one row: for each check of a key the rows, and their different hashes. Equal numbers prove the key.

    Sorting hashes costs half of what grouping keys does. None where a type has no hash that is equal for equal values.
    """
    if not keys or not all(place.has_hash(name) for check in keys for name in check.distinct):
        return None
    selected: list[exp.Expr] = []
    for check in keys:
        hashed = exp.Distinct(expressions=[row_hash([column(name) for name in check.distinct])])
        for counted in (exp.Count(this=exp.Star()), exp.Count(this=hashed)):
            meant = exp.not_(exp.Paren(this=any_null(check.distinct)))
            looked_at = exp.Filter(this=counted, expression=exp.Where(this=meant)) if check.nulls_distinct else counted
            selected.append(_narrowed(looked_at, check.where))
    return asked(exp.select(*selected).from_(place.rows.copy()), place.binds)


def repeated_keys(keys: Sequence[Unique], place: Place) -> Statement | None:
    """One scan, one row: for each check of a key how many repeat, and how many of those hold NULL."""
    if not keys:
        return None
    sets = list(dict.fromkeys(check.distinct for check in keys))
    names = list(dict.fromkeys(name for key in sets for name in key))
    wheres = list(dict.fromkeys(check.where for check in keys))
    grouping = exp.func("GROUPING", *(column(name) for name in names))
    inner: list[exp.Expr] = [*(column(name) for name in names), exp.alias_(grouping, "idem_key", quoted=True)]
    inner += [exp.alias_(_count(where), f"idem_rows{number}", quoted=True) for number, where in enumerate(wheres)]
    groups = exp.Group(grouping_sets=[exp.GroupingSets(expressions=[_key(key) for key in sets])])
    found = exp.select(*inner).from_(place.rows.copy()).having(exp.GT(this=_count(None), expression=_number(1)))
    found.set("group", groups)
    outer: list[exp.Expr] = []
    for check in keys:
        left_out = sum(1 << place for place, name in enumerate(reversed(names)) if name not in check.distinct)
        repeats = exp.GT(this=column(f"idem_rows{wheres.index(check.where)}"), expression=_number(1))
        of_key = exp.EQ(this=column("idem_key"), expression=_number(left_out))
        outer.append(count_where(exp.and_(of_key, repeats)))
        outer.append(count_where(exp.and_(of_key.copy(), repeats.copy(), any_null(check.distinct))))
    return asked(exp.select(*outer).from_(found.subquery(quoted("repeated"))), place.binds)


def violations(check: Check, place: Place, facts: Facts, limit: int, *, whole: bool = False) -> Statement | None:
    """A few of the rows that break the check: the columns that messages show, then with ``whole`` all as JSON."""
    found = check.violations(filtered(check, place.rows))
    if found is None:
        return None
    rows = found.subquery(quoted("violations"))
    columns: list[exp.Expr] = [exp.cast(column(name), "text") for name in check.examples(facts)]
    if whole or not columns:
        columns.append(exp.cast(exp.func("to_jsonb", column("violations")), "text"))
    return asked(
        place.typed(exp.select(*columns).from_(rows).limit(limit)), {**place.binds, **check.binds(facts)}, facts
    )


def filtered(check: Check, rows: Rows) -> Rows:
    """The rows that the check's ``where`` lets through."""
    if check.where is None:
        return rows.copy()
    return exp.select("*").from_(rows.copy()).where(condition(check.where)).subquery(quoted("filtered_rows"))


def question(asked_for: Question, place: Place, facts: Facts) -> Statement:
    """A query of a check's own."""
    return asked(asked_for.query, {**place.binds, **asked_for.binds}, facts)


def recomputing(check: Check, place: Place, facts: Facts, own: Question | None = None) -> str:
    """The query that measures it again, to be run as it stands in psql: no binds, and rows that outlive the load."""
    rows, binds = place.shown or place.rows, place.shown_binds if place.shown else place.binds
    tree: exp.Expr | None = check.violations(filtered(check, rows))
    if tree is None and own:
        tree = own.query.transform(lambda node: rows.copy() if node == place.rows else node)
    if tree is None:
        tree = exp.select(*(_aggregates(check)[1:] or [_count(check.where)])).from_(rows.copy())
    values = {**binds, **check.binds(facts), **(own.binds if own else {})}
    return shown(place.typed(tree), values, facts)


def _aggregates(check: Check) -> list[exp.Expr]:
    """The number of rows, then what the check asks for; each of the rows that ``where`` lets through."""
    return [_count(check.where), *(_narrowed(tree, check.where) for tree in check.aggregates())]


def _count(where: str | None) -> exp.Expr:
    return _narrowed(exp.Count(this=exp.Star()), where)


def _narrowed(tree: exp.Expr, where: str | None) -> exp.Expr:
    """The same with every aggregate in it over the rows that the condition lets through."""
    if where is None:
        return tree
    holder = exp.Tuple(expressions=[tree.copy()])
    for found in list(holder.find_all(exp.AggFunc)):
        if isinstance(found.parent, exp.Filter) and found.parent.this is found:
            kept = found.parent.expression
            kept.set("this", exp.and_(exp.Paren(this=kept.this.copy()), condition(where)))
        else:
            found.replace(exp.Filter(this=found.copy(), expression=exp.Where(this=condition(where))))
    narrowed: exp.Expr = holder.expressions[0]
    return narrowed


def _named_apart(tree: exp.Expr, number: int) -> exp.Expr:
    """Placeholders named after the check, so that two checks may use the same word."""
    tree = tree.copy()
    for found in tree.find_all(exp.Placeholder):
        found.set("this", f"c{number}_{found.name}")
    return tree


def _key(names: Sequence[str]) -> exp.Expr:
    return exp.Tuple(expressions=[column(name) for name in names])


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)

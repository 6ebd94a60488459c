"""What differs between a batch and the rows that it speaks for, by one join."""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.checks.hashing import row_hash
from airflow_idempotent.core.actions import ReplaceRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql import groups
from airflow_idempotent.sql.counting import skip, take
from airflow_idempotent.sql.order import content_of, payload, same_content
from airflow_idempotent.sql.places import CHILD, DIFFERENCE, EFFECT, NEW, OLD, WRITER
from airflow_idempotent.sql.scope import in_scope, scope_binds
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table

_NTH, _HASH = "idem_nth", "idem_hash"
PAIRS, KNOWN = "idem_pairs", "idem_known"


def differing(action: ReplaceRows, target: TableShape, *, distinct: bool = False) -> exp.Select:
    """One row per row to write: what to do, where the new row lies, where the old one; and the new row itself.

    ``distinct``: as if no row were on one side twice, with ``PAIRS`` advanced for each two rows that are the same,
    and ``KNOWN`` for each row of the scope. That was so if as many rows were paired as there are on either side.
    """
    selected: list[exp.Expr] = [column(name, "t") for name in (OLD, CHILD, WRITER)]
    selected += [
        exp.alias_(exp.func("coalesce", column(name, "w"), column(name, "t")), groups.key(number), quoted=True)
        for number, name in enumerate(action.keys)
    ]
    selected += [exp.alias_(column(name, "w"), new, quoted=True) for name, new in values(action)]
    order = [column(OLD, "t"), column(NEW, "w")]
    if by_key(action, target):
        order = [column(groups.key(number)) for number, _ in enumerate(action.keys)]
    return _compared(action, target, distinct).select(*selected).order_by(*order)


def count_differing(action: ReplaceRows, target: TableShape) -> Statement:
    """Rows of (effect, rows, of them beyond the batch), where nothing is to be written by them."""
    rows = _compared(action, target, distinct=False).subquery(quoted("d"))
    return statement(_counted(rows), **scope_binds(action, target))


def count_found() -> Statement:
    """The same of a difference that was kept."""
    return statement(_counted(table(DIFFERENCE, "d")))


def _counted(rows: exp.Expr) -> exp.Select:
    of_table_alone = column(NEW, "d").is_(exp.null())
    beyond = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=of_table_alone))
    found = exp.select(column(EFFECT, "d"), exp.Count(this=exp.Star()), beyond).from_(rows)
    return found.group_by(column(EFFECT, "d"))


def _compared(action: ReplaceRows, target: TableShape, distinct: bool) -> exp.Select:
    """What to do, and where the new row lies, for each row that differs."""
    added = column(OLD, "t").is_(exp.null())
    gone: exp.Expr = column(NEW, "w").is_(exp.null())
    differs: list[exp.Expr] = []
    if action.unique_key:
        content = payload(action.columns, action.unique_key, (), target)
        differs += [exp.not_(same_content("w", "t", content, target))] if content else []
    if action.on_missing == "soft_delete":
        is_live = exp.not_(column(action.deleted_column, "t"))
        differs.append(column(action.deleted_column, "t"))
        gone = exp.and_(gone, is_live)
    effect = exp.case().when(added.copy(), exp.Literal.string("inserted"))
    effect = effect.when(column(NEW, "w").is_(exp.null()), exp.Literal.string("deleted"))
    effect = effect.else_(exp.Literal.string("updated"))
    both = exp.not_(column(NEW, "w").is_(exp.null()))
    changed = [exp.and_(both, exp.or_(*differs))] if differs else []
    rows = exp.select(exp.alias_(effect, EFFECT, quoted=True), column(NEW, "w")).from_(_new(action, target, distinct))
    side = "left" if action.on_missing == "keep" or one_row_each(action, target) else "full"
    rows = rows.join(_old(action, target, distinct), on=exp.and_(*_matching(action, target, distinct)), join_type=side)
    if distinct:
        either = exp.or_(added, column(NEW, "w").is_(exp.null()))
        return rows.where(exp.case().when(either, exp.true()).else_(skip(PAIRS)))
    return rows.where(exp.or_(added, gone, *changed))


def values(action: ReplaceRows) -> list[tuple[str, str]]:
    """Columns, and what the difference calls them, for it holds the new rows: by their places they lie far apart."""
    return [(name, f"idem_value_{number}") for number, name in enumerate(action.columns)]


def _new(action: ReplaceRows, target: TableShape, distinct: bool) -> exp.Subquery:
    """The batch's rows as ``w``."""
    selected: list[exp.Expr] = [column(name, "s") for name in action.columns]
    selected.append(exp.alias_(column("ctid", "s"), NEW, quoted=True))
    if not action.unique_key:
        selected += _numbered(action, target, distinct)
    elif not target.is_unique(action.unique_key):
        one = exp.cast(exp.Literal.number(1), data_type("bigint"))
        selected.append(exp.alias_(one, _NTH, quoted=True))
    return exp.select(*selected).from_(table(action.source, "s")).subquery(quoted("w"))


def _old(action: ReplaceRows, target: TableShape, distinct: bool) -> exp.Subquery:
    """The scope's rows as ``t``, with their places; numbered where several could be meant."""
    names = dict.fromkeys((*action.columns, *([action.deleted_column] if action.deleted_column else ())))
    selected: list[exp.Expr] = [column(name, "s") for name in names]
    places = (("ctid", OLD), ("tableoid", CHILD), ("xmin", WRITER))
    selected += [exp.alias_(column(name, "s"), alias, quoted=True) for name, alias in places]
    if not action.unique_key:
        selected += _numbered(action, target, distinct, first=action.deleted_column)
        selected += [exp.alias_(take(KNOWN), KNOWN, quoted=True)] if distinct else []
    elif not target.is_unique(action.unique_key):
        keys: list[exp.Expr] = [column(name, "s") for name in action.unique_key]
        order: list[exp.Expr] = [column(action.deleted_column, "s")] if action.deleted_column else []
        order += [content_of(target[name], "s") for name in payload(action.columns, action.unique_key, (), target)]
        selected.append(_nth(keys, order))
    rows = exp.select(*selected).from_(table(action.target, "s"))
    scope = [] if one_row_each(action, target) else in_scope(action, "s")
    return rows.where(*scope).subquery(quoted("t"))


def one_row_each(action: ReplaceRows, target: TableShape) -> bool:
    """Whether each key has one row at most: then a row of the scope is a row that is found by its key."""
    return bool(action.keys) and {*action.keys} == {*action.unique_key} and target.is_unique(action.keys)


def by_key(action: ReplaceRows, target: TableShape) -> bool:
    """Whether rows are written in the order of their keys: places of several children have no order."""
    return target.partitioned and one_row_each(action, target)


def _numbered(action: ReplaceRows, target: TableShape, distinct: bool, first: str = "") -> list[exp.Expr]:
    """A hash of the row's content, and which of the rows of equal content it is."""
    content = [content_of(target[name], "s") for name in action.columns]
    hashed = row_hash(content)
    if distinct:
        return [exp.alias_(hashed, _HASH, quoted=True)]
    number = _nth([hashed.copy(), *content], [column(first, "s")] if first else [])
    return [exp.alias_(hashed, _HASH, quoted=True), number]


def _nth(within_each: list[exp.Expr], order: list[exp.Expr]) -> exp.Expr:
    ordered = exp.Order(expressions=[exp.Ordered(this=item, nulls_first=False) for item in order]) if order else None
    number = exp.Window(this=exp.RowNumber(), partition_by=within_each, order=ordered)
    return exp.alias_(number, _NTH, quoted=True)


def _matching(action: ReplaceRows, target: TableShape, distinct: bool) -> list[exp.Expr]:
    """That a row of the batch and one of the scope are the same row."""
    by = [*action.unique_key] if action.unique_key else [_HASH]
    if not (distinct or (action.unique_key and target.is_unique(action.unique_key))):
        by.append(_NTH)
    same: list[exp.Expr] = [exp.EQ(this=column(name, "w"), expression=column(name, "t")) for name in by]
    return same if action.unique_key else [*same, same_content("w", "t", action.columns, target)]

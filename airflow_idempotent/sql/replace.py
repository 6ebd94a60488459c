"""Replacing the rows of a scope: what differs is found by one join, and written by the place it lies at.

A place alone could be taken by another row meanwhile, so the transaction that wrote a row is compared too:
whoever else changes a row between find and write makes the counts differ, which is noticed.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from airflow_idempotent.checks.hashing import row_hash
from airflow_idempotent.core.actions import ReplaceRows
from airflow_idempotent.core.columns import BATCH_ID, TableShape
from airflow_idempotent.sql import groups
from airflow_idempotent.sql.difference import Difference
from airflow_idempotent.sql.order import content_of, is_exact, payload, same_content
from airflow_idempotent.sql.places import CHILD, DIFFERENCE, EFFECT, NEW, OLD, WRITER
from airflow_idempotent.sql.planning import ROW_BY_ROW
from airflow_idempotent.sql.scope import in_scope, scope_binds
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, setting, statement, table, temporary

_NTH, _HASH = "idem_nth", "idem_hash"

# Two whole tables: merging them in key order beats a hash table that misses every cache, by measurement.
_BY_ORDER = tuple(setting(name, "off") for name in ("enable_hashjoin", "enable_nestloop"))

_BY_PLAN = tuple(setting(f"enable_{way}", "on") for way in ("hashjoin", "mergejoin", "nestloop", "material"))


def replace_rows(action: ReplaceRows, target: TableShape, *, distinct: bool = False) -> Difference:
    """Find what differs between source and scope, count it, write it; ``distinct``: no row repeats on either side."""
    find = statement(temporary(DIFFERENCE, _differing(action, target, distinct)), **scope_binds(action, target))
    found: tuple[Statement, ...] = (find,)
    if _one_row_each(action, target):
        found = (*ROW_BY_ROW, find, *_BY_PLAN, *groups.judge(action, target))
    elif action.keys:
        analyze = statement(exp.Analyze(tables=[table(action.source)]))
        found = (analyze, find, *groups.judge(action, target))
    elif action.is_of_table and action.unique_key and target.is_unique(action.unique_key):
        found = (*_BY_ORDER, find, *_BY_PLAN)
    in_order = action.within or not target.partitioned or _one_row_each(action, target)
    by_place = ROW_BY_ROW if in_order else ()
    gone = _mark(action) if action.on_missing == "soft_delete" else _delete(action)
    updates = bool(action.unique_key or action.deleted_column)
    update = (("updated", _update(action, target)),) if updates else ()
    write = (("deleted", gone), *update, ("inserted", _insert(action)))
    return Difference((*found, *by_place), _count(), write, counted=True)


def _differing(action: ReplaceRows, target: TableShape, distinct: bool) -> exp.Select:
    """One row per row to write: what to do, where the new row lies, where the old one."""
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
    selected = [exp.alias_(effect, EFFECT, quoted=True), column(NEW, "w")]
    selected += [column(name, "t") for name in (OLD, CHILD, WRITER)]
    selected += [
        exp.alias_(exp.func("coalesce", column(name, "w"), column(name, "t")), groups.key(number), quoted=True)
        for number, name in enumerate(action.keys)
    ]
    selected += [exp.alias_(column(name, "w"), new, quoted=True) for name, new in _values(action)]
    rows = exp.select(*selected).from_(_new(action, target, distinct))
    side = "left" if action.on_missing == "keep" or _one_row_each(action, target) else "full"
    on = exp.and_(*_matching(action, target, distinct))
    rows = rows.join(_old(action, target, distinct), on=on, join_type=side)
    order = [column(OLD, "t"), column(NEW, "w")]
    if _by_key(action, target):
        order = [column(groups.key(number)) for number, _ in enumerate(action.keys)]
    return rows.where(exp.or_(added, gone, *changed)).order_by(*order)


def _values(action: ReplaceRows) -> list[tuple[str, str]]:
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
    elif not target.is_unique(action.unique_key):
        keys: list[exp.Expr] = [column(name, "s") for name in action.unique_key]
        order: list[exp.Expr] = [column(action.deleted_column, "s")] if action.deleted_column else []
        order += [content_of(target[name], "s") for name in payload(action.columns, action.unique_key, (), target)]
        selected.append(_nth(keys, order))
    rows = exp.select(*selected).from_(table(action.target, "s"))
    scope = [] if _one_row_each(action, target) else in_scope(action, "s")
    return rows.where(*scope).subquery(quoted("t"))


def _one_row_each(action: ReplaceRows, target: TableShape) -> bool:
    """Whether each key has one row at most: then a row of the scope is a row that is found by its key."""
    return bool(action.keys) and {*action.keys} == {*action.unique_key} and target.is_unique(action.keys)


def _by_key(action: ReplaceRows, target: TableShape) -> bool:
    """Whether rows are written in the order of their keys: places of several children have no order."""
    return target.partitioned and _one_row_each(action, target)


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


def _count() -> Statement:
    """Rows of (effect, rows, of them beyond the batch)."""
    of_table_alone = column(NEW, "d").is_(exp.null())
    beyond = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=of_table_alone))
    found = exp.select(column(EFFECT, "d"), exp.Count(this=exp.Star()), beyond).from_(table(DIFFERENCE, "d"))
    return statement(found.group_by(column(EFFECT, "d")))


def _delete(action: ReplaceRows) -> Statement:
    delete = exp.Delete(
        this=table(action.target, "t"), using=[table(DIFFERENCE, "d")], where=exp.Where(this=_lies("deleted"))
    )
    return statement(delete)


def _mark(action: ReplaceRows) -> Statement:
    """Say of rows that they are gone."""
    marked = exp.EQ(this=column(action.deleted_column), expression=exp.true())
    update = exp.Update(this=table(action.target, "t"), expressions=[marked])
    return statement(update.from_(table(DIFFERENCE, "d")).where(_lies("deleted")))


def _update(action: ReplaceRows, target: TableShape) -> Statement:
    """Rows of the same key in place; what an equal key fixes stays as it is."""
    fixed = {name for name in action.unique_key if is_exact(target[name])}
    names = [name for name in action.columns if name not in fixed] or action.columns
    changes: list[exp.Expr] = [
        exp.EQ(this=column(name), expression=column(new, "d")) for name, new in _values(action) if name in names
    ]
    changes += [exp.EQ(this=column(name), expression=value) for name, value in _own(action)]
    if action.whole:
        lacking = [item.name for item in target.columns if item.writable and item.name not in action.columns]
        changes += [exp.EQ(this=column(name), expression=exp.var("DEFAULT")) for name in lacking]
    update = exp.Update(this=table(action.target, "t"), expressions=changes)
    update = update.from_(table(DIFFERENCE, "d"))
    by_key = zip(action.keys, map(groups.key, range(len(action.keys))), strict=True) if _by_key(action, target) else ()
    same = [exp.EQ(this=column(name, "t"), expression=column(key, "d")) for name, key in by_key]
    return statement(update.where(_lies("updated"), *same), **_own_binds(action))


def _insert(action: ReplaceRows) -> Statement:
    """New rows in the order of their keys, so that two writers never wait for each other; else in that of the batch."""
    order = [column(new, "d") for name, new in _values(action) if name in action.unique_key] or [column(NEW, "d")]
    rows = exp.select(*(column(new, "d") for _, new in _values(action))).from_(table(DIFFERENCE, "d"))
    return _inserted(action, rows.where(_is("inserted")).order_by(*order))


def insert_all(action: ReplaceRows) -> Statement:
    """All rows of the batch, into a scope that has none."""
    rows = exp.select(*(column(name, "w") for name in action.columns)).from_(table(action.source, "w"))
    return _inserted(action, rows)


def _inserted(action: ReplaceRows, rows: exp.Select) -> Statement:
    own = _own(action)
    names = [quoted(name) for name in (*action.columns, *(name for name, _ in own))]
    into = exp.Schema(this=table(action.target), expressions=names)
    return statement(exp.Insert(this=into, expression=rows.select(*(value for _, value in own))), **_own_binds(action))


def _own(action: ReplaceRows) -> list[tuple[str, exp.Expr]]:
    """Columns that the batch does not fill, and what written rows get there."""
    own: list[tuple[str, exp.Expr]] = []
    if action.batch_id:
        own.append((BATCH_ID, exp.Placeholder(this="batch_id")))
    if action.deleted_column:
        own.append((action.deleted_column, exp.false()))
    return own


def _own_binds(action: ReplaceRows) -> dict[str, Any]:
    return {"batch_id": action.batch_id} if action.batch_id else {}


def _is(effect: str) -> exp.Expr:
    return exp.EQ(this=column(EFFECT, "d"), expression=exp.Literal.string(effect))


def _lies(effect: str) -> exp.Expr:
    """That ``t`` is the very row which was found, as it was found."""
    return exp.and_(_is(effect), *lies())


def lies() -> list[exp.Expr]:
    """That ``t`` lies where ``d`` has found it, and nobody has written it since."""
    same = (("ctid", OLD), ("tableoid", CHILD), ("xmin", WRITER))
    return [exp.EQ(this=column(name, "t"), expression=column(found, "d")) for name, found in same]


def joined_by_place(source: str, *, side: str | None = None) -> exp.From:
    """What differs, ``d``, and the batch's rows to it, ``w``."""
    on = exp.EQ(this=column("ctid", "w"), expression=column(NEW, "d"))
    rows = exp.From(this=table(DIFFERENCE, "d"))
    rows.this.append("joins", exp.Join(this=table(source, "w"), on=on, side=side))
    return rows

"""Replacing the rows of a scope: what differs is found by one join, and written by the place it lies at.

A place alone could be taken by another row meanwhile, so the transaction that wrote a row is compared too:
whoever else changes a row between find and write makes the counts differ, which is noticed.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from airflow_idempotent.core.actions import ReplaceRows
from airflow_idempotent.core.columns import BATCH_ID, TableShape
from airflow_idempotent.sql import groups
from airflow_idempotent.sql.comparing import by_key, count_found, differing, one_row_each, values
from airflow_idempotent.sql.difference import Difference
from airflow_idempotent.sql.order import is_exact
from airflow_idempotent.sql.places import CHILD, DIFFERENCE, EFFECT, NEW, OLD, WRITER
from airflow_idempotent.sql.planning import ROW_BY_ROW
from airflow_idempotent.sql.remembered import remembered
from airflow_idempotent.sql.scope import scope_binds
from airflow_idempotent.sql.statement import Statement, column, quoted, setting, statement, table, temporary

# Two whole tables: merging them in key order beats a hash table that misses every cache, by measurement.
_BY_ORDER = tuple(setting(name, "off") for name in ("enable_hashjoin", "enable_nestloop"))

_BY_PLAN = tuple(setting(f"enable_{way}", "on") for way in ("hashjoin", "mergejoin", "nestloop", "material"))


def values_of(action: ReplaceRows, target: TableShape) -> dict[str, Any]:
    """What statements of the action are bound to."""
    return scope_binds(action, target) | _own_binds(action)


@remembered(values_of)
def replace_rows(action: ReplaceRows, target: TableShape, *, distinct: bool = False) -> Difference:
    """Find what differs between source and scope, count it, write it; ``distinct`` as ``differing`` has it."""
    find = statement(temporary(DIFFERENCE, differing(action, target, distinct=distinct)), **scope_binds(action, target))
    found: tuple[Statement, ...] = (find,)
    if one_row_each(action, target):
        found = (*ROW_BY_ROW, find, *_BY_PLAN, *groups.judge(action, target))
    elif action.keys:
        analyze = statement(exp.Analyze(tables=[table(action.source)]))
        found = (analyze, find, *groups.judge(action, target))
    elif action.is_of_table and action.unique_key and target.is_unique(action.unique_key):
        found = (*_BY_ORDER, find, *_BY_PLAN)
    in_order = action.within or not target.partitioned or one_row_each(action, target)
    by_place = ROW_BY_ROW if in_order else ()
    gone = _mark(action) if action.on_missing == "soft_delete" else _delete(action)
    updates = bool(action.unique_key or action.deleted_column)
    update = (("updated", _update(action, target)),) if updates else ()
    write = (("deleted", gone), *update, ("inserted", _insert(action)))
    return Difference((*found, *by_place), count_found(), write, counted=True)


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
        exp.EQ(this=column(name), expression=column(new, "d")) for name, new in values(action) if name in names
    ]
    changes += [exp.EQ(this=column(name), expression=value) for name, value in _own(action)]
    if action.whole:
        lacking = [item.name for item in target.columns if item.writable and item.name not in action.columns]
        changes += [exp.EQ(this=column(name), expression=exp.var("DEFAULT")) for name in lacking]
    update = exp.Update(this=table(action.target, "t"), expressions=changes)
    update = update.from_(table(DIFFERENCE, "d"))
    keys = enumerate(action.keys) if by_key(action, target) else ()
    same = [exp.EQ(this=column(name, "t"), expression=column(groups.key(place), "d")) for place, name in keys]
    return statement(update.where(_lies("updated"), *same), **_own_binds(action))


def _insert(action: ReplaceRows) -> Statement:
    """New rows in the order of their keys, so that two writers never wait for each other; else in that of the batch."""
    order = [column(new, "d") for name, new in values(action) if name in action.unique_key] or [column(NEW, "d")]
    rows = exp.select(*(column(new, "d") for _, new in values(action))).from_(table(DIFFERENCE, "d"))
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

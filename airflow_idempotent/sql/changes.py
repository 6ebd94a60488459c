"""The cdc strategy as SQL: what differs is found in one visit of the target in key order, then written by its place.

Found and written apart, so that a second run stops after looking, deletions free their unique values
before inserts need them, and what was found is an exact count. docs/how-to/cdc.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from airflow_idempotent.core.actions.changes import ApplyChanges
from airflow_idempotent.core.columns import DELETED, TableShape
from airflow_idempotent.sql.difference import Difference
from airflow_idempotent.sql.events import BEYOND, HAS_ROW, IS_DELETE, by_version, deleted_version, newer, winners_of
from airflow_idempotent.sql.measure import bounds, within
from airflow_idempotent.sql.order import greater_content, is_exact, payload, same_content
from airflow_idempotent.sql.statement import Statement, column, quoted, setting, statement, table, temporary
from airflow_idempotent.sql.tombstones import DELETED_AT, forget_tombstones

INSERTED, UPDATED, DELETES, UNCHANGED, STALE = "inserted", "updated", "deleted", "unchanged", "stale"
BURIED = "buried"
"""Nothing to do in the target, but the deletion is to be remembered."""

_VERDICT, _PLACE, _ORDER, _TOMB, _GONE, _WAS_GONE = (
    f"idem_{word}" for word in ("verdict", "place", "order", "tomb", "gone", "was_gone")
)
_FOUND, _BURIED = "idem_found", "idem_buried"
OUTLIVED = "outlived"
"""A row has come that is no older than the tombstone of its key."""
# In key order by index probes, as in a merge.
_BY_INDEX = tuple(setting(name, "off") for name in ("enable_hashjoin", "enable_mergejoin", "enable_material"))


def apply_changes(action: ApplyChanges, target: TableShape) -> Difference:
    """What the events differ in from target and tombstones, its count, and the statements that write it."""
    planning = _BY_INDEX if target.is_unique(action.events.unique_key) else ()
    find = statement(temporary(action.differing, _judged(action, target)), **_bounds(action, target))
    return Difference((*planning, find), _count(action), (*_rows(action, target), *_tombstones(action)))


def compile_changes(action: ApplyChanges, target: TableShape) -> tuple[Statement, ...]:
    """All of it, and the end of tombstones that are too old."""
    forget = (forget_tombstones(action.events.tombstones, action.ttl),) if action.ttl else ()
    return (*apply_changes(action, target).statements, *forget)


def repeated_changes(action: ApplyChanges) -> Statement:
    """How many keys of the batch the target holds more than once; asked only when no index forbids it."""
    keys = [column(name) for name in action.events.unique_key]
    repeated = exp.select(*keys).from_(table(action.differing)).group_by(*keys)
    repeated = repeated.having(exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1)))
    return statement(exp.select(exp.Count(this=exp.Star())).from_(repeated.subquery(quoted("repeated"))))


def _count(action: ApplyChanges) -> Statement:
    """Rows of (verdict, keys, those of them that no row of the batch speaks of)."""
    beyond: exp.Expr = exp.Literal.number(0)
    if action.events.key_before:
        beyond = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=column(BEYOND)))
    counted = exp.select(column(_VERDICT), exp.Count(this=exp.Star()), beyond).from_(table(action.differing))
    return statement(counted.group_by(column(_VERDICT)))


# --- what differs -----------------------------------------------------------------------------------------------------


def _judged(action: ApplyChanges, target: TableShape) -> exp.Select:
    """The winners, each with its verdict."""
    verdict = _soft_verdict() if action.events.soft else _hard_verdict()
    compared = _compared(action, target).subquery(quoted("compared"))
    return exp.select(exp.Star(), exp.alias_(verdict, _VERDICT, quoted=True)).from_(compared)


def _compared(action: ApplyChanges, target: TableShape) -> exp.Select:
    """The winners beside what is there: how they stand to the row, and to the tombstone."""
    events = action.events
    first = events.unique_key[0]
    found, buried = (exp.not_(column(first, alias).is_(exp.null())) for alias in ("t", "d"))
    flags = {_PLACE: column("ctid", "t"), _FOUND: found, _BURIED: buried}
    flags |= {_ORDER: _against_row(action, target), _TOMB: _against_tombstone(action)}
    if events.soft:
        flags |= {_WAS_GONE: column(DELETED, "t"), _GONE: _gone(action)}
    selected: list[exp.Expr] = [exp.Column(this=exp.Star(), table=quoted("w"))]
    selected += [exp.alias_(value, name, quoted=True) for name, value in flags.items()]
    rows = exp.select(*selected).from_(_winners(action, target))
    rows = rows.join(table(action.target, "t"), on=_same_key(action, "t"), join_type="left")
    return rows.join(table(events.tombstones, "d"), on=_same_key(action, "d"), join_type="left")


def _winners(action: ApplyChanges, target: TableShape) -> exp.Expr:
    return table(action.winners, "w") if action.resolved else winners_of(action.events, target).subquery(quoted("w"))


def _same_key(action: ApplyChanges, alias: str) -> exp.Expr:
    same = [exp.EQ(this=column(n, alias), expression=column(n, "w")) for n in action.events.unique_key]
    inside = within(action.within[0], "t") if action.within and alias == "t" else []
    return exp.and_(*same, *inside)


def _bounds(action: ApplyChanges, target: TableShape) -> dict[str, Any]:
    return bounds(action.within[1], target[action.within[0]]) if action.within else {}


def _against_row(action: ApplyChanges, target: TableShape) -> exp.Expr:
    """1 when the event is greater than the row that is there, 0 when it is the same, -1 when it is less."""
    events = action.events
    content = payload(events.columns, events.unique_key, events.version, target)
    tie: exp.Expr = _number(-1)
    if content:
        tie = exp.case().when(same_content("w", "t", content, target), _number(0))
        tie = tie.when(greater_content("w", "t", content, target), _number(1)).else_(_number(-1))
    else:
        tie = _number(0)
    if not events.soft:  # at equal versions the row wins
        tie = exp.case().when(column(IS_DELETE, "w"), _number(-1)).else_(tie)
    versions = _versions(action, "w"), _versions(action, "t")
    order = by_version(*versions, newer=_number(1), older=_number(-1), equal=tie)
    if not events.soft:
        return _where_found("t", action, order)
    return _where_found("t", action, exp.case().when(column(HAS_ROW, "w"), order))


def _against_tombstone(action: ApplyChanges) -> exp.Expr:
    """The same against the tombstone, by version alone; softly only for a deletion."""
    events = action.events
    ours = [deleted_version(number, events) for number in range(len(events.version))]
    order = by_version(ours, _versions(action, "d"), newer=_number(1), older=_number(-1), equal=_number(0))
    if events.soft:
        order = exp.case().when(column(IS_DELETE, "w"), order)
    return _where_found("d", action, order)


def _versions(action: ApplyChanges, alias: str) -> list[exp.Expr]:
    return [column(name, alias) for name in action.events.version]


def _where_found(alias: str, action: ApplyChanges, order: exp.Expr) -> exp.Case:
    return exp.case().when(exp.not_(column(action.events.unique_key[0], alias).is_(exp.null())), order)


def _gone(action: ApplyChanges) -> exp.Expr:
    """Whether the greatest deletion known is newer than every row known; where its tombstone is lost, the row tells."""
    events = action.events
    deleted = [deleted_version(number, events) for number in range(len(events.version))]
    first = events.unique_key[0]
    no_row, no_target = exp.not_(column(HAS_ROW, "w")), column(first, "t").is_(exp.null())
    buried = exp.not_(column(first, "d").is_(exp.null()))
    either = []
    for known, version in ((column(IS_DELETE, "w"), deleted), (buried, _versions(action, "d"))):
        beats_batch = exp.or_(no_row.copy(), newer(version, _versions(action, "w")))
        beats_target = exp.or_(no_target.copy(), newer(version, _versions(action, "t")))
        either.append(exp.and_(known, beats_batch, beats_target))
    newer_row = exp.and_(column(HAS_ROW, "w"), newer(_versions(action, "w"), _versions(action, "t")))
    forgotten = exp.and_(
        exp.func("coalesce", column(DELETED, "t"), exp.false()), exp.not_(buried.copy()), exp.not_(newer_row)
    )
    return exp.or_(*either, forgotten)


def _hard_verdict() -> exp.Case:
    order, tomb, found = column(_ORDER), column(_TOMB), column(_FOUND)
    is_newer = exp.EQ(this=order, expression=_number(1))
    below = exp.EQ(this=tomb, expression=_number(-1))
    deletion = (
        exp.case()
        .when(exp.and_(found, is_newer), _word(DELETES))
        .when(exp.or_(found.copy(), below), _word(STALE))
        .when(exp.EQ(this=tomb.copy(), expression=_number(0)), _word(UNCHANGED))
        .else_(_word(BURIED))
    )
    return (
        exp.case()
        .when(column(IS_DELETE), deletion)
        .when(below.copy(), _word(STALE))
        .when(exp.not_(found.copy()), _word(INSERTED))
        .when(is_newer.copy(), _word(UPDATED))
        .when(exp.EQ(this=order.copy(), expression=_number(0)), _word(UNCHANGED))
        .else_(_word(STALE))
    )


def _soft_verdict() -> exp.Case:
    order, tomb, gone, was_gone = column(_ORDER), column(_TOMB), column(_GONE), column(_WAS_GONE)
    has_row, is_delete, found = column(HAS_ROW), column(IS_DELETE), column(_FOUND)
    known = exp.EQ(this=tomb, expression=_number(0))
    to_bury = exp.and_(is_delete, gone, exp.or_(exp.not_(column(_BURIED)), exp.EQ(this=tomb.copy(), expression=_number(1))))
    says_nothing_new = exp.and_(
        exp.or_(exp.not_(has_row.copy()), exp.EQ(this=order, expression=_number(0))),
        exp.or_(exp.not_(is_delete.copy()), known),
    )
    rewritten = exp.or_(exp.EQ(this=order.copy(), expression=_number(1)), exp.NEQ(this=gone, expression=was_gone))
    return (
        exp.case()
        .when(exp.and_(exp.not_(found), has_row), _word(INSERTED))
        .when(exp.and_(found.copy(), gone.copy(), exp.not_(was_gone.copy())), _word(DELETES))
        .when(exp.and_(found.copy(), rewritten), _word(UPDATED))
        .when(to_bury, _word(BURIED))
        .when(says_nothing_new, _word(UNCHANGED))
        .else_(_word(STALE))
    )


# --- writing it -------------------------------------------------------------------------------------------------------


def _rows(action: ApplyChanges, target: TableShape) -> tuple[tuple[str, Statement], ...]:
    """Deletions first: they free values that other unique constraints want once."""
    events = action.events
    columns = [*events.columns, *([DELETED] if events.soft else [])]
    fixed = {name for name in events.unique_key if is_exact(target[name])}
    values = [name for name in events.columns if name not in fixed] or list(events.unique_key)
    changes = [exp.EQ(this=column(name), expression=column(name, "c")) for name in values]
    flag = exp.EQ(this=column(DELETED), expression=column(_GONE, "c"))
    newer_row = exp.EQ(this=column(_ORDER, "c"), expression=_number(1))
    source = [column(name) for name in events.columns] + ([column(_GONE)] if events.soft else [])
    rows = exp.select(*source).from_(table(action.differing)).where(_is([INSERTED]))
    into = exp.Schema(this=table(action.target), expressions=[quoted(name) for name in columns])
    insert = statement(exp.Insert(this=into, expression=rows))
    if not events.soft:
        delete = exp.Delete(this=table(action.target, "t"), using=[table(action.differing, "c")])
        delete = delete.where(_is([DELETES], "c"), *_at_place(action, target))
        update = _update(action, target, changes, [UPDATED])
        return ((DELETES, statement(delete, **_bounds(action, target))), (UPDATED, update), (INSERTED, insert))
    other = exp.not_(exp.Paren(this=exp.NullSafeEQ(this=newer_row.this, expression=_number(1))))
    found = []
    for verdict in (DELETES, UPDATED):
        found.append((verdict, _update(action, target, [*changes, flag], [verdict], newer_row)))
        found.append((verdict, _update(action, target, [flag], [verdict], other)))
    return (*found, (INSERTED, insert))


def _update(
    action: ApplyChanges, target: TableShape, changes: Sequence[exp.Expr], verdicts: Sequence[str], *also: exp.Expr
) -> Statement:
    update = exp.Update(this=table(action.target, "t"), expressions=[item.copy() for item in changes])
    update.set("from_", exp.From(this=table(action.differing, "c")))
    found = update.where(_is(verdicts, "c"), *(item.copy() for item in also), *_at_place(action, target))
    return statement(found, **_bounds(action, target))


def _at_place(action: ApplyChanges, target: TableShape) -> list[exp.Expr]:
    """The row that was found, by its place where one table has places, and by its key, should another lie there now."""
    same: list[exp.Expr] = [
        exp.EQ(this=column(n, "t"), expression=column(n, "c")) for n in action.events.unique_key
    ]
    if not target.partitioned:
        same.insert(0, exp.EQ(this=column("ctid", "t"), expression=column(_PLACE, "c")))
    return [*same, *(within(action.within[0], "t") if action.within else [])]


def _tombstones(action: ApplyChanges) -> tuple[tuple[str, Statement], ...]:
    """Remember the deletions that hold, and forget those that a row has outlived."""
    events = action.events
    names = list(dict.fromkeys((*events.unique_key, *events.version)))
    versions = {name: deleted_version(number, events) for number, name in enumerate(events.version)}
    source = [column(n, "w") if n in events.unique_key else versions[n] for n in names]
    news = exp.or_(exp.not_(column(_BURIED, "w")), exp.EQ(this=column(_TOMB, "w"), expression=_number(1)))
    holds = [_is([DELETES, BURIED], "w")]
    outlived = [_is([INSERTED, UPDATED], "c"), column(_BURIED, "c")]
    if events.soft:
        holds = [_is([INSERTED, UPDATED, DELETES, BURIED], "w"), column(_GONE, "w")]
        outlived.append(exp.not_(column(_GONE, "c")))
    rows = exp.select(*source).from_(table(action.differing, "w")).where(column(IS_DELETE, "w"), news, *holds)
    excluded = [n for n in names if n not in events.unique_key]
    changes = [exp.EQ(this=column(n), expression=column(n, "excluded")) for n in excluded]
    changes.append(exp.EQ(this=column(DELETED_AT), expression=exp.CurrentTimestamp()))
    conflict = exp.OnConflict(
        conflict_keys=[quoted(name) for name in events.unique_key],
        action=exp.Var(this="DO UPDATE"),
        expressions=changes,
    )
    into = exp.Schema(this=table(events.tombstones), expressions=[quoted(name) for name in names])
    bury = statement(exp.Insert(this=into, expression=rows, conflict=conflict))
    same = [exp.EQ(this=column(n, "d"), expression=column(n, "c")) for n in events.unique_key]
    rise = exp.Delete(this=table(events.tombstones, "d"), using=[table(action.differing, "c")]).where(*outlived, *same)
    return ((BURIED, bury), (OUTLIVED, statement(rise)))


def _is(verdicts: Sequence[str], alias: str | None = None) -> exp.Expr:
    return exp.In(this=column(_VERDICT, alias), expressions=[_word(word) for word in verdicts])


def _word(text: str) -> exp.Literal:
    return exp.Literal.string(text)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)

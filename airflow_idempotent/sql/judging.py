"""What the events of a change stream mean for the rows and the tombstones that are there: a verdict per key."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from airflow_idempotent.core.actions.changes import ApplyChanges
from airflow_idempotent.core.columns import DELETED, TableShape
from airflow_idempotent.sql.events import HAS_ROW, IS_DELETE, deleted_version
from airflow_idempotent.sql.measure import bounds, within
from airflow_idempotent.sql.order import greater_content, payload, same_content
from airflow_idempotent.sql.statement import column, quoted, table
from airflow_idempotent.sql.versions import by_version, cases, columns_of, newer

INSERTED, UPDATED, DELETES, UNCHANGED, STALE = "inserted", "updated", "deleted", "unchanged", "stale"
BURIED = "buried"
"""Nothing to do in the target, but the deletion is to be remembered."""

VERDICT, PLACE, ORDER, TOMB, GONE, WAS_GONE = (
    f"idem_{word}" for word in ("verdict", "place", "order", "tomb", "gone", "was_gone")
)
FOUND, IS_BURIED = "idem_found", "idem_buried"


def judged(action: ApplyChanges, target: TableShape) -> exp.Select:
    """The winners, each with its verdict."""
    verdict = _soft_verdict() if action.events.soft else _hard_verdict()
    compared = _compared(action, target).subquery(quoted("compared"))
    return exp.select(exp.Star(), exp.alias_(verdict, VERDICT, quoted=True)).from_(compared)


def _compared(action: ApplyChanges, target: TableShape) -> exp.Select:
    """The winners beside what is there: how they stand to the row, and to the tombstone."""
    events = action.events
    first = events.unique_key[0]
    found, buried = (exp.not_(column(first, alias).is_(exp.null())) for alias in ("t", "d"))
    flags: dict[str, exp.Expr] = {PLACE: column("ctid", "t"), FOUND: found, IS_BURIED: buried}
    flags |= {ORDER: _against_row(action, target), TOMB: _against_tombstone(action)}
    if events.soft:
        flags |= {WAS_GONE: column(DELETED, "t"), GONE: _gone(action)}
    selected: list[exp.Expr] = [exp.Column(this=exp.Star(), table=quoted("w"))]
    selected += [exp.alias_(value, name, quoted=True) for name, value in flags.items()]
    rows = exp.select(*selected).from_(table(action.winners, "w"))
    rows = rows.join(table(action.target, "t"), on=same_key(action, "t"), join_type="left")
    return rows.join(table(events.tombstones, "d"), on=same_key(action, "d"), join_type="left")


def same_key(action: ApplyChanges, alias: str, *, inside: bool = True) -> exp.Expr:
    """That a row is of the winner's key; in the target, ``inside`` the one partition to look into, if there is one."""
    same = [exp.EQ(this=column(n, alias), expression=column(n, "w")) for n in action.events.unique_key]
    bounded = within(action.within[0], "t") if action.within and alias == "t" and inside else []
    return exp.and_(*same, *bounded)


def target_bounds(action: ApplyChanges, target: TableShape) -> dict[str, Any]:
    """The values for the one partition to look into, if there is but one."""
    return bounds(action.within[1], target[action.within[0]]) if action.within else {}


def _against_row(action: ApplyChanges, target: TableShape) -> exp.Expr:
    """1 when the event is greater than the row that is there, 0 when it is the same, -1 when it is less."""
    events = action.events
    content = payload(events.columns, events.unique_key, events.version, target)
    greater = [(greater_content("w", "t", content, target), number(1))] if content else []
    tie: exp.Expr = cases([(same_content("w", "t", content, target), number(0)), *greater], number(-1))
    if not events.soft:  # at equal versions the row wins
        tie = cases([(column(IS_DELETE, "w"), number(-1))], tie)
    versions = columns_of("w", events.version), columns_of("t", events.version)
    order = by_version(*versions, newer=number(1), older=number(-1), equal=tie)
    if not events.soft:
        return _where_found("t", action, order)
    return _where_found("t", action, cases([(column(HAS_ROW, "w"), order)]))


def _against_tombstone(action: ApplyChanges) -> exp.Expr:
    """The same against the tombstone, by version alone; softly only for a deletion."""
    events = action.events
    ours = [deleted_version(number, events) for number in range(len(events.version))]
    order = by_version(ours, columns_of("d", events.version), newer=number(1), older=number(-1), equal=number(0))
    if events.soft:
        order = cases([(column(IS_DELETE, "w"), order)])
    return _where_found("d", action, order)


def _where_found(alias: str, action: ApplyChanges, order: exp.Expr) -> exp.Case:
    return cases([(exp.not_(column(action.events.unique_key[0], alias).is_(exp.null())), order)])


def _gone(action: ApplyChanges) -> exp.Expr:
    """Whether the greatest deletion known is newer than every row known; where its tombstone is lost, the row tells."""
    events = action.events
    deleted = [deleted_version(number, events) for number in range(len(events.version))]
    first = events.unique_key[0]
    no_row, no_target = exp.not_(column(HAS_ROW, "w")), column(first, "t").is_(exp.null())
    buried = exp.not_(column(first, "d").is_(exp.null()))
    either = []
    for known, version in ((column(IS_DELETE, "w"), deleted), (buried, columns_of("d", events.version))):
        beats_batch = exp.or_(no_row.copy(), newer(version, columns_of("w", events.version)))
        beats_target = exp.or_(no_target.copy(), newer(version, columns_of("t", events.version)))
        either.append(exp.and_(known, beats_batch, beats_target))
    newer_row = exp.and_(column(HAS_ROW, "w"), newer(columns_of("w", events.version), columns_of("t", events.version)))
    forgotten = exp.and_(
        exp.func("coalesce", column(DELETED, "t"), exp.false()), exp.not_(buried.copy()), exp.not_(newer_row)
    )
    return exp.or_(*either, forgotten)


def _hard_verdict() -> exp.Case:
    found, is_delete, below = column(FOUND), column(IS_DELETE), _is(TOMB, -1)
    return cases(
        [
            (exp.and_(is_delete, found, _is(ORDER, 1)), word(DELETES)),
            (exp.and_(is_delete, exp.or_(found, below)), word(STALE)),
            (exp.and_(is_delete, _is(TOMB, 0)), word(UNCHANGED)),
            (is_delete, word(BURIED)),
            (below, word(STALE)),
            (exp.not_(found), word(INSERTED)),
            (_is(ORDER, 1), word(UPDATED)),
            (_is(ORDER, 0), word(UNCHANGED)),
        ],
        word(STALE),
    )


def _soft_verdict() -> exp.Case:
    gone, was_gone, found = column(GONE), column(WAS_GONE), column(FOUND)
    has_row, is_delete = column(HAS_ROW), column(IS_DELETE)
    rewritten = exp.or_(_is(ORDER, 1), exp.NEQ(this=gone.copy(), expression=was_gone.copy()))
    news = exp.or_(exp.not_(column(IS_BURIED)), _is(TOMB, 1))
    same_row = exp.or_(exp.not_(has_row), _is(ORDER, 0))
    same_deletion = exp.or_(exp.not_(is_delete), _is(TOMB, 0))
    return cases(
        [
            (exp.and_(exp.not_(found), has_row), word(INSERTED)),
            (exp.and_(found, gone, exp.not_(was_gone)), word(DELETES)),
            (exp.and_(found, rewritten), word(UPDATED)),
            (exp.and_(is_delete, gone, news), word(BURIED)),
            (exp.and_(same_row, same_deletion), word(UNCHANGED)),
        ],
        word(STALE),
    )


def _is(name: str, value: int) -> exp.Expr:
    return exp.EQ(this=column(name), expression=number(value))


def word(text: str) -> exp.Literal:
    """A verdict as SQL."""
    return exp.Literal.string(text)


def number(value: int) -> exp.Expr:
    """A number as SQL."""
    return exp.Literal.number(value)

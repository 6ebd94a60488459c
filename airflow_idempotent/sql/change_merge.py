"""A change stream by one MERGE: faster than looking first, where rows that are deleted go and most events write.

Temporary sequences count inside its conditions, as in a merge of rows. A key is either in the target or among the
tombstones, so only events that find no row ask for a tombstone.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.actions.changes import ApplyChanges
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.counting import Counters, skip, take
from airflow_idempotent.sql.events import IS_DELETE
from airflow_idempotent.sql.judging import DELETES, INSERTED, STALE, UNCHANGED, same_key, target_bounds
from airflow_idempotent.sql.order import greater_content, is_exact, payload, same_content
from airflow_idempotent.sql.planning import JOINS
from airflow_idempotent.sql.statement import Statement, column, quoted, settings, statement, table
from airflow_idempotent.sql.tombstones import DELETED_AT
from airflow_idempotent.sql.versions import by_version, cases, columns_of, newer

COUNTED = (INSERTED, DELETES, UNCHANGED, STALE)
"""The effects that are counted along; the rest of the rows written are updates."""

_NAMES = {effect: f"idem_{effect}" for effect in COUNTED}
COUNTERS = Counters(tuple(_NAMES.values()))
AS_PLANNED = settings(dict.fromkeys(JOINS, "on"))


def suits(action: ApplyChanges, target: TableShape) -> bool:
    """Whether one MERGE can do it: rows that go, found by a unique index, with no trigger that keeps them."""
    events = action.events
    by_key = target.is_unique(events.unique_key) and not target.intercepted
    return by_key and not events.soft and not events.key_before


def merge_changes(action: ApplyChanges, target: TableShape) -> Statement:
    """Delete, update and insert what the events say."""
    events = action.events
    fixed = {name for name in events.unique_key if is_exact(target[name])}
    values = [name for name in events.columns if name not in fixed] or list(events.unique_key)
    changes = [exp.EQ(this=column(name), expression=column(name, "w")) for name in values]
    insert = exp.Insert(
        this=exp.Tuple(expressions=[column(name) for name in events.columns]),
        expression=exp.Tuple(expressions=[column(name, "w") for name in events.columns]),
    )
    whens = [
        exp.When(matched=True, condition=_deletes(action), then=exp.Var(this="DELETE")),
        exp.When(matched=True, condition=_updates(action, target), then=exp.Update(expressions=changes)),
        exp.When(matched=False, condition=_inserts(action), then=insert),
    ]
    merge = exp.Merge(
        this=table(action.target, "t"),
        using=table(action.winners, "w"),
        on=same_key(action, "t"),
        whens=exp.Whens(expressions=whens),
    )
    return statement(merge, **target_bounds(action, target))


def bury(action: ApplyChanges) -> Statement:
    """Remember the deletions of keys that are not in the target now, where no newer one is known."""
    events = action.events
    names = list(dict.fromkeys((*events.unique_key, *events.version)))
    there = (
        exp.select(exp.Literal.number(1)).from_(table(action.target, "t")).where(same_key(action, "t", inside=False))
    )
    known = exp.select(exp.Literal.number(1)).from_(table(events.tombstones, "d"))
    not_older = newer(columns_of("w", events.version), columns_of("d", events.version))
    known = known.where(same_key(action, "d"), exp.not_(not_older))
    rows = exp.select(*(column(name, "w") for name in names)).from_(table(action.winners, "w"))
    rows = rows.where(column(IS_DELETE, "w"), *(exp.not_(exp.Exists(this=found)) for found in (there, known)))
    return statement(into_tombstones(action, names, rows))


def outlive(action: ApplyChanges) -> Statement:
    """Forget the deletions that a row has outlived."""
    events = action.events
    delete = exp.Delete(this=table(events.tombstones, "d"), using=[table(action.winners, "w")])
    older = newer(columns_of("d", events.version), columns_of("w", events.version))
    return statement(delete.where(exp.not_(column(IS_DELETE, "w")), same_key(action, "d"), exp.not_(older)))


def into_tombstones(action: ApplyChanges, names: list[str], rows: exp.Select) -> exp.Insert:
    """INSERT … ON CONFLICT: the version of a key moves on, and so does the time of its deletion."""
    events = action.events
    changes = [exp.EQ(this=column(n), expression=column(n, "excluded")) for n in names if n not in events.unique_key]
    changes.append(exp.EQ(this=column(DELETED_AT), expression=exp.CurrentTimestamp()))
    conflict = exp.OnConflict(
        conflict_keys=[quoted(name) for name in events.unique_key],
        action=exp.Var(this="DO UPDATE"),
        expressions=changes,
    )
    into = exp.Schema(this=table(events.tombstones), expressions=[quoted(name) for name in names])
    return exp.Insert(this=into, expression=rows, conflict=conflict)


# --- conditions: each event is counted once, when it is decided -------------------------------------------------------


def _deletes(action: ApplyChanges) -> exp.Case:
    events = action.events
    versions = columns_of("w", events.version), columns_of("t", events.version)
    older = skip(_NAMES[STALE])
    wins = by_version(*versions, newer=take(_NAMES[DELETES]), older=older, equal=older.copy())
    return cases([(column(IS_DELETE, "w"), wins)], exp.false())


def _updates(action: ApplyChanges, target: TableShape) -> exp.Case:
    events = action.events
    content = payload(events.columns, events.unique_key, events.version, target)
    greater = [(greater_content("w", "t", content, target), exp.true())] if content else []
    tie = cases([(same_content("w", "t", content, target), skip(_NAMES[UNCHANGED])), *greater], skip(_NAMES[STALE]))
    versions = columns_of("w", events.version), columns_of("t", events.version)
    wins = by_version(*versions, newer=exp.true(), older=skip(_NAMES[STALE]), equal=tie)
    return cases([(column(IS_DELETE, "w"), exp.false())], wins)


def _inserts(action: ApplyChanges) -> exp.Case:
    """Below a tombstone an event is stale; a deletion inserts nothing in any case."""
    events = action.events
    later = newer(columns_of("d", events.version), columns_of("w", events.version))
    buried = exp.select(exp.Literal.number(1)).from_(table(events.tombstones, "d")).where(same_key(action, "d"), later)
    return cases(
        [(exp.Exists(this=buried), skip(_NAMES[STALE])), (column(IS_DELETE, "w"), skip(_NAMES[UNCHANGED]))],
        take(_NAMES[INSERTED]),
    )

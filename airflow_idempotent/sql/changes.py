"""The cdc strategy as SQL: what differs is found in one visit of the target in key order, then written by its place.

Found and written apart, so that a second run stops after looking, deletions free their unique values
before inserts need them, and what was found is an exact count.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp

from airflow_idempotent.core.actions.changes import ApplyChanges
from airflow_idempotent.core.columns import DELETED, TableShape
from airflow_idempotent.sql.change_merge import (
    AS_PLANNED,
    COUNTERS,
    bury,
    into_tombstones,
    merge_changes,
    outlive,
    suits,
)
from airflow_idempotent.sql.difference import Difference
from airflow_idempotent.sql.events import BEYOND, IS_DELETE, deleted_version
from airflow_idempotent.sql.judging import (
    BURIED,
    DELETES,
    GONE,
    INSERTED,
    IS_BURIED,
    ORDER,
    PLACE,
    TOMB,
    UPDATED,
    VERDICT,
    judged,
    number,
    target_bounds,
    word,
)
from airflow_idempotent.sql.measure import within
from airflow_idempotent.sql.merge import SAVEPOINT
from airflow_idempotent.sql.order import is_exact
from airflow_idempotent.sql.planning import ROW_BY_ROW
from airflow_idempotent.sql.statement import Statement, column, quoted, statement, table, temporary
from airflow_idempotent.sql.tombstones import forget_tombstones

OUTLIVED = "outlived"
"""A row has come that is no older than the tombstone of its key."""


@lru_cache(maxsize=8)
def apply_changes(action: ApplyChanges, target: TableShape) -> Difference:
    """What the events differ in from target and tombstones, its count, and the statements that write it."""
    planning = ROW_BY_ROW if target.is_unique(action.events.unique_key) else ()
    find = statement(temporary(action.differing, judged(action, target)), **target_bounds(action, target))
    return Difference((*planning, find), _count(action), (*_rows(action, target), *_tombstones(action)))


def compile_changes(action: ApplyChanges, target: TableShape) -> tuple[Statement, ...]:
    """What a first run sends where one MERGE suits, else the difference; and the end of tombstones that are too old."""
    forget = (forget_tombstones(action.events.tombstones, action.ttl),) if action.ttl else ()
    if not suits(action, target):
        return (*apply_changes(action, target).statements, *forget)
    merge = merge_changes(action, target)
    return (
        SAVEPOINT,
        *ROW_BY_ROW,
        *COUNTERS.start,
        merge,
        COUNTERS.read,
        COUNTERS.drop,
        bury(action),
        AS_PLANNED,
        outlive(action),
        *forget,
    )


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
    counted = exp.select(column(VERDICT), exp.Count(this=exp.Star()), beyond).from_(table(action.differing))
    return statement(counted.group_by(column(VERDICT)))


# --- writing it -------------------------------------------------------------------------------------------------------


def _rows(action: ApplyChanges, target: TableShape) -> tuple[tuple[str, Statement], ...]:
    """Deletions first: they free values that other unique constraints want once."""
    events = action.events
    columns = [*events.columns, *([DELETED] if events.soft else [])]
    fixed = {name for name in events.unique_key if is_exact(target[name])}
    values = [name for name in events.columns if name not in fixed] or list(events.unique_key)
    changes = [exp.EQ(this=column(name), expression=column(name, "c")) for name in values]
    flag = exp.EQ(this=column(DELETED), expression=column(GONE, "c"))
    newer_row = exp.EQ(this=column(ORDER, "c"), expression=number(1))
    source = [column(name) for name in events.columns] + ([column(GONE)] if events.soft else [])
    rows = exp.select(*source).from_(table(action.differing)).where(_is([INSERTED]))
    into = exp.Schema(this=table(action.target), expressions=[quoted(name) for name in columns])
    insert = statement(exp.Insert(this=into, expression=rows))
    if not events.soft:
        delete = exp.Delete(this=table(action.target, "t"), using=[table(action.differing, "c")])
        delete = delete.where(_is([DELETES], "c"), *_at_place(action, target))
        update = _update(action, target, changes, [UPDATED])
        return ((DELETES, statement(delete, **target_bounds(action, target))), (UPDATED, update), (INSERTED, insert))
    other = exp.not_(exp.Paren(this=exp.NullSafeEQ(this=newer_row.this, expression=number(1))))
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
    return statement(found, **target_bounds(action, target))


def _at_place(action: ApplyChanges, target: TableShape) -> list[exp.Expr]:
    """The row that was found, by its place where one table has places, and by its key, should another lie there now."""
    same: list[exp.Expr] = [exp.EQ(this=column(n, "t"), expression=column(n, "c")) for n in action.events.unique_key]
    if not target.partitioned:
        same.insert(0, exp.EQ(this=column("ctid", "t"), expression=column(PLACE, "c")))
    return [*same, *(within(action.within[0], "t") if action.within else [])]


def _tombstones(action: ApplyChanges) -> tuple[tuple[str, Statement], ...]:
    """Remember the deletions that hold, and forget those that a row has outlived."""
    events = action.events
    names = list(dict.fromkeys((*events.unique_key, *events.version)))
    versions = {name: deleted_version(number, events) for number, name in enumerate(events.version)}
    source = [column(n, "w") if n in events.unique_key else versions[n] for n in names]
    news = exp.or_(exp.not_(column(IS_BURIED, "w")), exp.EQ(this=column(TOMB, "w"), expression=number(1)))
    holds = [_is([DELETES, BURIED], "w")]
    outlived = [_is([INSERTED, UPDATED], "c"), column(IS_BURIED, "c")]
    if events.soft:
        holds = [_is([INSERTED, UPDATED, DELETES, BURIED], "w"), column(GONE, "w")]
        outlived.append(exp.not_(column(GONE, "c")))
    rows = exp.select(*source).from_(table(action.differing, "w")).where(column(IS_DELETE, "w"), news, *holds)
    remember = statement(into_tombstones(action, names, rows))
    same = [exp.EQ(this=column(n, "d"), expression=column(n, "c")) for n in events.unique_key]
    rise = exp.Delete(this=table(events.tombstones, "d"), using=[table(action.differing, "c")]).where(*outlived, *same)
    return ((BURIED, remember), (OUTLIVED, statement(rise)))


def _is(verdicts: Sequence[str], alias: str | None = None) -> exp.Expr:
    return exp.In(this=column(VERDICT, alias), expressions=[word(verdict) for verdict in verdicts])

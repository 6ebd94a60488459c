"""The merge strategy as SQL: one sort, one visit of the target, and exact counts of what happened.

MERGE tells neither inserted from updated (before PostgreSQL 17) nor unchanged from stale. Temporary
sequences, advanced inside its WHEN conditions, count both in the same pass; docs/adr/0002 has the
measurements. Each decision to insert or to skip is final, so a row checked again after waiting for
a parallel writer is not counted twice.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from airflow_idempotent.checks.hashing import HASHED, row_hash
from airflow_idempotent.core.actions import Deduplicate, UpsertRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.counting import Counters, skip, take
from airflow_idempotent.sql.measure import bounds, within
from airflow_idempotent.sql.order import best_first, greater_content, is_exact, payload, same_content
from airflow_idempotent.sql.planning import ROW_BY_ROW
from airflow_idempotent.sql.remembered import no_values, remembered
from airflow_idempotent.sql.statement import Statement, column, quoted, statement, table, temporary

INSERTED, UNCHANGED, STALE = "idem_inserted", "idem_unchanged", "idem_stale"
COUNTERS = Counters((INSERTED, UNCHANGED, STALE))
NEWER = "idem_newer"
SAVEPOINT, BACK_TO_SAVEPOINT = Statement("SAVEPOINT idem_write"), Statement("ROLLBACK TO SAVEPOINT idem_write")

# Types that sort as plain numbers.
_NUMBERS = {"smallint", "integer", "bigint", "date", "timestamp without time zone", "timestamp with time zone"}


def inside_bounds(action: UpsertRows, target: TableShape) -> dict[str, Any]:
    """What ``same_key`` has to be bound to."""
    return bounds(action.within[1], target[action.within[0]]) if action.within else {}


@remembered(no_values)
def deduplicate(action: Deduplicate, target: TableShape) -> Statement:
    """Keep the winners in a temporary table, in key order."""
    return statement(temporary(action.winners, winners_of(action, target)))


@remembered(no_values)
def may_repeat(action: Deduplicate, target: TableShape) -> Statement:
    """Whether a key may be in staging more than once; False is certain, True as good as that.

    Distinct numbers are counted, by a sort that takes half the time of a hash table of all keys: the keys themselves
    or, OFFSET lets nothing else into the sort, their hashes. Equal keys have equal hashes.
    """
    keys = target.select(action.unique_key)
    if not all(item.base_type in HASHED and item.deterministic for item in keys):
        return _repeats(action)
    named = [column(item.name) for item in keys]
    number = named[0] if len(keys) == 1 and keys[0].base_type in _NUMBERS else row_hash(named)
    numbers = exp.select(exp.alias_(number, "number")).from_(table(action.staging)).offset(0)
    distinct = exp.Count(this=exp.Distinct(expressions=[exp.column("number")]))
    fewer = exp.LT(this=distinct, expression=exp.Count(this=exp.Star()))
    return statement(exp.select(fewer).from_(numbers.subquery("numbers")))


def _repeats(action: Deduplicate) -> Statement:
    keys = [column(name) for name in action.unique_key]
    found = exp.select().from_(table(action.staging)).group_by(*keys)
    found = found.having(exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1)))
    return statement(exp.select(exp.Exists(this=found)))


def take_all(action: Deduplicate) -> Statement:
    """Let staging be the winners."""
    renamed = exp.AlterRename(this=exp.table_(action.winners, quoted=True))
    return statement(exp.Alter(this=table(action.staging), kind="TABLE", actions=[renamed]))


def winners_of(action: Deduplicate | UpsertRows, target: TableShape) -> exp.Select:
    """One row per key: the greatest version, ties by content. Numerics may still be staged wider than the target's."""
    staging = action.staging if isinstance(action, Deduplicate) else action.source
    key, version, content = action.unique_key, action.version, action.content or action.columns
    rows = exp.select(*(column(name, "s") for name in action.columns)).from_(table(staging, "s"))
    rows = rows.distinct(*(column(name, "s") for name in key))
    order = best_first("s", key=key, version=version, columns=content, target=target, least=action.least)
    return rows.order_by(*order)


@remembered(inside_bounds)
def repeated_keys(action: UpsertRows, target: TableShape) -> Statement:
    """How many keys of the batch the target holds more than once; asked only when no index forbids it."""
    keys = [column(name, "t") for name in action.unique_key]
    batch = exp.select(*(column(name, "s") for name in action.unique_key)).from_(table(action.source, "s"))
    found = exp.select(*keys).from_(table(action.target, "t"))
    found = found.where(exp.In(this=exp.Tuple(expressions=keys), query=batch.subquery()), *_inside(action))
    repeated = found.group_by(*keys).having(exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1)))
    counted = exp.select(exp.Count(this=exp.Star())).from_(repeated.subquery(quoted("repeated")))
    return statement(counted, **inside_bounds(action, target))


@remembered(inside_bounds)
def upsert_rows(action: UpsertRows, target: TableShape) -> tuple[Statement, ...]:
    """Settings, counters, and the MERGE itself, last; then reading and dropping ``COUNTERS``."""
    return (
        *_planning(action, target),
        *COUNTERS.start,
        statement(_merge(action, target), **inside_bounds(action, target)),
    )


def count_keys(action: UpsertRows) -> Statement:
    """How many keys the batch has."""
    keys = exp.select(*(column(name) for name in action.unique_key)).from_(table(action.source)).distinct()
    return statement(exp.select(exp.Count(this=exp.Star())).from_(keys.subquery(quoted("keys"))))


@remembered(inside_bounds)
def compare_rows(action: UpsertRows, target: TableShape) -> tuple[Statement, ...]:
    """Settings, and last what the MERGE would find: rows of (verdict, count). It only reads, so it is faster."""
    missing = column(action.unique_key[0], "t").is_(exp.null())
    judged = _decided(
        action,
        target,
        newer=exp.Literal.string(NEWER),
        same=exp.Literal.string(UNCHANGED),
        stale=exp.Literal.string(STALE),
    )
    verdict = exp.alias_(exp.case().when(missing, exp.Literal.string(INSERTED)).else_(judged), "verdict", quoted=True)
    rows = (
        exp.select(verdict)
        .from_(winners(action, target))
        .join(table(action.target, "t"), on=same_key(action), join_type="left")
    )
    counted = exp.select(column("verdict"), exp.Count(this=exp.Star())).from_(rows.subquery(quoted("compared")))
    return (*_planning(action, target), statement(counted.group_by(column("verdict")), **inside_bounds(action, target)))


def _planning(action: UpsertRows, target: TableShape) -> tuple[Statement, ...]:
    """Settings that make the planner use the index of the key, where there is one."""
    return ROW_BY_ROW if target.is_unique(action.unique_key) else ()


def _merge(action: UpsertRows, target: TableShape) -> exp.Merge:
    fixed = {name for name in action.unique_key if is_exact(target[name])}
    written = action.columns if action.updates is None else action.updates
    values = [name for name in written if name not in fixed] or action.unique_key
    changes = [exp.EQ(this=column(name), expression=column(name, "w")) for name in values]
    insert = exp.Insert(
        this=exp.Tuple(expressions=[column(name) for name in action.columns]),
        expression=exp.Tuple(expressions=[column(name, "w") for name in action.columns]),
    )
    wins = _decided(action, target, newer=exp.true(), same=skip(UNCHANGED), stale=skip(STALE))
    whens = [
        exp.When(matched=True, condition=wins, then=exp.Update(expressions=changes)),
        exp.When(matched=False, condition=take(INSERTED), then=insert),
    ]
    using = winners(action, target)
    return exp.Merge(
        this=table(action.target, "t"), using=using, on=same_key(action), whens=exp.Whens(expressions=whens)
    )


def winners(action: UpsertRows, target: TableShape) -> exp.Subquery:
    """The batch's rows, one per key, as ``w``."""
    if action.deduplicated:
        rows = exp.select(*(column(name) for name in action.columns)).from_(table(action.source))
    else:
        rows = winners_of(action, target)
    return rows.subquery(quoted("w"))


def same_key(action: UpsertRows) -> exp.Expr:
    """That a row of the target, ``t``, has the key of the winner ``w``."""
    equal = (exp.EQ(this=column(name, "t"), expression=column(name, "w")) for name in action.unique_key)
    return exp.and_(*equal, *_inside(action))


def _inside(action: UpsertRows) -> list[exp.Expr]:
    """That a row of the target lies in the one child table that matters; nothing where any may."""
    return within(action.within[0], "t") if action.within else []


def _decided(action: UpsertRows, target: TableShape, *, newer: exp.Expr, same: exp.Expr, stale: exp.Expr) -> exp.Expr:
    """One of three expressions, by what the batch's row is against the target's."""
    case = exp.case()
    better, worse = ("t", "w") if action.least else ("w", "t")
    for name in action.version:
        high, low = column(name, better), column(name, worse)
        case = case.when(exp.GT(this=high, expression=low), newer.copy())
        case = case.when(exp.LT(this=high, expression=low), stale.copy())
        for lowest, other, verdict in ((low, high, newer), (high, low, stale)):
            if lowest.table == "w" or target[name].nullable:
                only_one = exp.and_(lowest.is_(exp.null()), exp.not_(other.is_(exp.null())))
                case = case.when(only_one, verdict.copy())
    written = action.columns if action.updates is None else action.updates
    content = payload(written, action.unique_key, action.version, target)
    case = case.when(same_content("w", "t", content, target), same)
    if not action.version:
        return case.else_(stale if action.superseded else newer)
    if not content or not action.decides_ties:
        return case.else_(stale)
    return case.when(greater_content(better, worse, content, target), newer).else_(stale)

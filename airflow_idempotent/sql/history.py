"""Slowly changing dimensions: one row per version, and intervals that follow from all versions of a key.

The batch is joined with the versions that the table has of its keys, a window over both says where each interval
ends, and only rows that are new or differ from that are written, by the place they lie at.
"""

from __future__ import annotations

from sqlglot import exp

from airflow_idempotent.core.actions import RebuildIntervals
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.difference import Difference
from airflow_idempotent.sql.order import greater_content, is_exact, payload, same_content
from airflow_idempotent.sql.places import CHILD, DIFFERENCE, EFFECT, NEW, OLD, WRITER
from airflow_idempotent.sql.planning import ROW_BY_ROW
from airflow_idempotent.sql.remembered import no_values, remembered
from airflow_idempotent.sql.replace import joined_by_place, lies
from airflow_idempotent.sql.statement import Statement, column, quoted, setting, statement, table, temporary

SINCE, UNTIL, MOVED = "idem_since", "idem_until", "idem_moved"
"""Where the interval of a row begins and ends, and whether the table says otherwise."""

# The batch lies in the order of its keys, and the window wants that order: no hash table, by measurement.
_BY_ORDER, _BY_PLAN = (setting("enable_hashjoin", value) for value in ("off", "on"))


@remembered(no_values)
def rebuild_intervals(action: RebuildIntervals, target: TableShape) -> Difference:
    """Find rows that are new, have lost or won a tie, or whose interval changes; count them; write them."""
    analyze = statement(exp.Analyze(tables=[table(action.source)]))
    find = statement(temporary(DIFFERENCE, _differing(action, target)))
    by_place = () if target.partitioned else ROW_BY_ROW
    write = (("updated", _update(action, target)), ("inserted", _insert(action)))
    return Difference((analyze, _BY_ORDER, find, _BY_PLAN, *by_place), _count(), write, counted=True)


def _differing(action: RebuildIntervals, target: TableShape) -> exp.Select:
    """One row per row to write or to count as stale: the batch's effect, both places, the interval as it should be."""
    since, until = column(SINCE, "r"), column(UNTIL, "r")
    right: list[tuple[str, exp.Expr]] = [(action.valid_from, since), (action.valid_to, until)]
    if action.is_current:
        right.append((action.is_current, exp.Paren(this=until.is_(exp.null()))))
    moved = exp.or_(*(exp.NullSafeNEQ(this=column(name, "r"), expression=value) for name, value in right))
    stored = exp.not_(column(OLD, "r").is_(exp.null()))
    moved = exp.and_(stored, moved)
    selected = [column(name, "r") for name in (EFFECT, NEW, OLD, CHILD, WRITER, SINCE, UNTIL)]
    rows = exp.select(*selected, exp.alias_(moved, MOVED, quoted=True)).from_(_versions(action, target))
    effects = [exp.Literal.string(word) for word in ("inserted", "updated", "stale")]
    known = exp.In(this=column(EFFECT, "r"), expressions=effects)
    return rows.where(exp.or_(known, moved.copy())).order_by(column(OLD, "r"), column(NEW, "r"))


def _versions(action: RebuildIntervals, target: TableShape) -> exp.Subquery:
    """All versions of the batch's keys, each with the one that follows it, as ``r``."""
    key = [_either(name) for name in action.unique_key]
    since = _either(action.version)
    over = exp.Order(expressions=[exp.Ordered(this=since, nulls_first=False)])
    until = exp.Window(this=exp.func("lead", since.copy()), partition_by=key, order=over)
    selected: list[exp.Expr] = [exp.alias_(_effect(action, target), EFFECT, quoted=True), column(NEW, "w")]
    selected += [column(name, "t") for name in (OLD, CHILD, WRITER)]
    selected += [exp.alias_(since.copy(), SINCE, quoted=True), exp.alias_(until, UNTIL, quoted=True)]
    selected += [column(name, "t") for name in action.own]
    same = [exp.EQ(this=column(name, "w"), expression=column(name, "t")) for name in action.row_key]
    rows = exp.select(*selected).from_(_new(action)).join(_old(action, target), on=exp.and_(*same), join_type="full")
    return rows.subquery(quoted("r"))


def _either(name: str) -> exp.Expr:
    return exp.func("coalesce", column(name, "w"), column(name, "t"))


def _effect(action: RebuildIntervals, target: TableShape) -> exp.Expr:
    """What becomes of the batch's row; NULL where the batch has none."""
    content = payload(action.columns, action.row_key, (), target)
    case = exp.case().when(column(OLD, "t").is_(exp.null()), exp.Literal.string("inserted"))
    case = case.when(column(NEW, "w").is_(exp.null()), exp.null())
    case = case.when(same_content("w", "t", content, target), exp.Literal.string("unchanged"))
    if content:
        case = case.when(greater_content("w", "t", content, target), exp.Literal.string("updated"))
    return case.else_(exp.Literal.string("stale"))


def _new(action: RebuildIntervals) -> exp.Subquery:
    """The batch's rows as ``w``."""
    place = exp.alias_(column("ctid", "s"), NEW, quoted=True)
    names = [column(name, "s") for name in action.columns]
    return exp.select(*names, place).from_(table(action.source, "s")).subquery(quoted("w"))


def _old(action: RebuildIntervals, target: TableShape) -> exp.Subquery:
    """The rows of the same keys that are there, as ``t``; one without a version has no place on the time axis."""
    asked = exp.select(*(column(name, "k") for name in action.unique_key)).from_(table(action.source, "k"))
    known = exp.Tuple(expressions=[column(name, "s") for name in action.unique_key])
    places = [
        exp.alias_(column(name, "s"), alias, quoted=True)
        for name, alias in (("ctid", OLD), ("tableoid", CHILD), ("xmin", WRITER))
    ]
    names = [column(name, "s") for name in (*action.columns, *action.own)]
    rows = (
        exp.select(*names, *places).from_(table(action.target, "s")).where(exp.In(this=known, query=asked.subquery()))
    )
    if target[action.version].nullable:
        rows = rows.where(exp.not_(column(action.version, "s").is_(exp.null())))
    return rows.subquery(quoted("t"))


def _count() -> Statement:
    """Rows of (effect, rows, of them beyond the batch)."""
    of_table, stale = column(NEW, "d").is_(exp.null()), exp.EQ(this=_effect_of(), expression=_word("stale"))
    effect = exp.case().when(column(OLD, "d").is_(exp.null()), _word("inserted")).else_(_word("updated"))
    beyond = exp.Filter(
        this=exp.Count(this=exp.Star()),
        expression=exp.Where(this=exp.or_(of_table, stale)),
    )
    written = exp.select(effect, exp.Count(this=exp.Star()), beyond).from_(table(DIFFERENCE, "d"))
    written = written.where(exp.or_(column(OLD, "d").is_(exp.null()), _is_updated())).group_by(exp.Literal.number(1))
    lost = exp.select(_word("stale"), exp.Count(this=exp.Star()), exp.Literal.number(0))
    lost = lost.from_(table(DIFFERENCE, "d")).where(stale.copy())
    return statement(exp.union(written, lost, distinct=False))


def _update(action: RebuildIntervals, target: TableShape) -> Statement:
    """Intervals that end elsewhere now, and rows that lost a tie: those take the batch's content."""
    fixed = {name for name in action.row_key if is_exact(target[name])}
    takes = exp.EQ(this=_effect_of(), expression=_word("updated"))
    changes: list[exp.Expr] = []
    for name in (name for name in action.columns if name not in fixed):
        value = exp.case().when(takes.copy(), column(name, "w")).else_(column(name, "t"))
        changes.append(exp.EQ(this=column(name), expression=value))
    changes += [exp.EQ(this=column(name), expression=value) for name, value in _interval(action)]
    update = exp.Update(this=table(action.target, "t"), expressions=changes)
    update.set("from_", joined_by_place(action.source, side="LEFT"))
    return statement(update.where(_is_updated(), *lies()))


def _insert(action: RebuildIntervals) -> Statement:
    """New versions in the order of the batch, which is that of keys."""
    own = _interval(action)
    values = [*(column(name, "w") for name in action.columns), *(value for _, value in own)]
    rows = exp.select(*values)
    rows.set("from_", joined_by_place(action.source))
    rows = rows.where(exp.EQ(this=_effect_of(), expression=_word("inserted"))).order_by(column(NEW, "d"))
    names = [quoted(name) for name in (*action.columns, *(name for name, _ in own))]
    return statement(exp.Insert(this=exp.Schema(this=table(action.target), expressions=names), expression=rows))


def _interval(action: RebuildIntervals) -> list[tuple[str, exp.Expr]]:
    """Our columns, and what a written row gets there."""
    own: list[tuple[str, exp.Expr]] = [(action.valid_from, column(SINCE, "d")), (action.valid_to, column(UNTIL, "d"))]
    if action.is_current:
        own.append((action.is_current, column(UNTIL, "d").is_(exp.null())))
    return own


def _is_updated() -> exp.Expr:
    return exp.or_(exp.EQ(this=_effect_of(), expression=_word("updated")), column(MOVED, "d"))


def _effect_of() -> exp.Column:
    return column(EFFECT, "d")


def _word(text: str) -> exp.Literal:
    return exp.Literal.string(text)

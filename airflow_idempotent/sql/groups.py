"""Groups of rows that are replaced as a whole: which of two groups of one key wins.

A total order of groups, so that any order of batches ends in the same rows: the greatest version of a group, NULL
lowest, then the group's content, sorted.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.actions import ReplaceRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.order import content_of
from airflow_idempotent.sql.places import DIFFERENCE, EFFECT, NEW
from airflow_idempotent.sql.statement import Statement, column, quoted, statement, table, temporary

GROUPS = "idem_groups"
_WINS = "wins"


def key(number: int) -> str:
    """The name of a key column among the helper tables, whatever it is called in the target."""
    return f"idem_key_{number}"


def judge(action: ReplaceRows, target: TableShape) -> tuple[Statement, ...]:
    """Take from the difference what belongs to groups that lose; their rows in the batch are stale."""
    if not (action.version or action.superseded):
        return ()
    groups = statement(temporary(GROUPS, _verdicts(action, target)))
    ties = (statement(_ties(action, target)),) if action.version else ()
    return (groups, *ties, statement(_stale(action)), statement(_nothing_gone(action)))


def _verdicts(action: ReplaceRows, target: TableShape) -> exp.Select:
    """Per group whether it wins; NULL when its greatest version is that of the target's group."""
    keys = [column(key(number), "g") for number, _ in enumerate(action.keys)]
    found = exp.select(*keys).from_(table(DIFFERENCE, "g")).distinct().subquery(quoted("g"))
    ours = _heads(action, action.source).subquery(quoted("w"))
    theirs = _heads(action, action.target).subquery(quoted("t"))
    verdict = exp.case().when(column(action.keys[0], "t").is_(exp.null()), exp.true())
    for name in action.version:
        new, old = column(name, "w"), column(name, "t")
        verdict = verdict.when(exp.GT(this=new, expression=old), exp.true())
        verdict = verdict.when(exp.LT(this=new, expression=old), exp.false())
        if target[name].nullable:
            verdict = verdict.when(exp.and_(old.is_(exp.null()), exp.not_(new.is_(exp.null()))), exp.true())
        verdict = verdict.when(exp.and_(new.is_(exp.null()), exp.not_(old.is_(exp.null()))), exp.false())
    wins = exp.alias_(verdict.else_(exp.null() if action.version else exp.false()), _WINS, quoted=True)
    rows = exp.select(*(item.copy() for item in keys), wins).from_(found)
    return rows.join(ours, on=_same(action, "w")).join(theirs, on=_same(action, "t"), join_type="left")


def _heads(action: ReplaceRows, rows: Relation | str) -> exp.Select:
    """The keys of the groups that differ, each with its greatest version."""
    keys = [column(name, "s") for name in action.keys]
    names = dict.fromkeys((*action.keys, *action.version))
    heads = exp.select(*(column(name, "s") for name in names)).from_(table(rows, "s"))
    heads = heads.where(_in(action, "s", DIFFERENCE)).distinct(*keys)
    order = [exp.Ordered(this=item.copy(), nulls_first=False) for item in keys]
    order += [exp.Ordered(this=column(name, "s"), desc=True, nulls_first=False) for name in action.version]
    return heads.order_by(*order)


def _ties(action: ReplaceRows, target: TableShape) -> exp.Update:
    """Compare the content of groups whose greatest versions are equal."""
    ours = _contents(action, target, action.source).subquery(quoted("w"))
    theirs = _contents(action, target, action.target).subquery(quoted("t"))
    greater = exp.GT(this=column("content", "w"), expression=column("content", "t"))
    update = exp.Update(this=table(GROUPS, "g"), expressions=[exp.EQ(this=column(_WINS), expression=greater)])
    pairs = (exp.EQ(this=column(name, "w"), expression=column(name, "t")) for name in action.keys)
    ours.append("joins", exp.Join(this=theirs, on=exp.and_(*pairs)))
    update.set("from_", exp.From(this=ours))
    return update.where(exp.and_(_same(action, "w"), column(_WINS, "g").is_(exp.null())))


def _contents(action: ReplaceRows, target: TableShape, rows: Relation | str) -> exp.Select:
    """The content of each undecided group: all its rows, sorted."""
    keys = [column(name, "s") for name in action.keys]
    row = exp.func("ROW", *(content_of(target[name], "s") for name in action.columns))
    sorted_rows = exp.ArrayAgg(this=exp.Order(this=row, expressions=[exp.Ordered(this=row.copy(), nulls_first=False)]))
    content = exp.select(*keys, exp.alias_(sorted_rows, "content", quoted=True)).from_(table(rows, "s"))
    undecided = column(_WINS, "k").is_(exp.null())
    return content.where(_in(action, "s", GROUPS, undecided)).group_by(*(item.copy() for item in keys))


def _stale(action: ReplaceRows) -> exp.Update:
    stale = exp.EQ(this=column(EFFECT), expression=exp.Literal.string("stale"))
    update = exp.Update(this=table(DIFFERENCE, "d"), expressions=[stale]).from_(table(GROUPS, "g"))
    return update.where(exp.and_(*_loses(action), exp.not_(column(NEW, "d").is_(exp.null()))))


def _nothing_gone(action: ReplaceRows) -> exp.Delete:
    where = exp.and_(*_loses(action), column(NEW, "d").is_(exp.null()))
    return exp.Delete(this=table(DIFFERENCE, "d"), using=[table(GROUPS, "g")], where=exp.Where(this=where))


def _loses(action: ReplaceRows) -> Sequence[exp.Expr]:
    names = [key(number) for number, _ in enumerate(action.keys)]
    same = [exp.EQ(this=column(name, "d"), expression=column(name, "g")) for name in names]
    return [*same, exp.not_(column(_WINS, "g"))]


def _same(action: ReplaceRows, alias: str) -> exp.Expr:
    """That a row of that alias is of the group ``g``."""
    pairs = ((key(number), name) for number, name in enumerate(action.keys))
    return exp.and_(*(exp.EQ(this=column(name, alias), expression=column(ours, "g")) for ours, name in pairs))


def _in(action: ReplaceRows, alias: str, helper: str, condition: exp.Expr | None = None) -> exp.Expr:
    """That a row is of one of the groups in a helper table."""
    asked = exp.select(*(column(key(number), "k") for number, _ in enumerate(action.keys))).from_(table(helper, "k"))
    if condition:
        asked = asked.where(condition)
    return exp.In(this=exp.Tuple(expressions=[column(name, alias) for name in action.keys]), query=asked.subquery())

"""Values that a change stream leaves out as unchanged: found in older events, in the target, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.actions.changes import KeepUnchanged
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.events import IS_DELETE, KEPT, by_sequence, events_of
from airflow_idempotent.sql.order import content_of
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table
from airflow_idempotent.sql.versions import columns_of, newer

_SETTLED = "idem_settled"


def keep_unchanged(action: KeepUnchanged, target: TableShape) -> tuple[Statement, ...]:
    """Which columns are left out and how often; per column the statement that fills it in; and the first one again."""
    events = action.events
    names = exp.func("unnest", column(KEPT, "w"))
    missing = exp.select(exp.alias_(names, "name")).from_(table(action.winners, "w")).subquery(quoted("missing"))
    counted = exp.select("name", exp.Count(this=exp.Star())).from_(missing).group_by("name").order_by("name")
    ask = statement(counted)
    return (ask, *(_fill(action, name, target) for name in events.kept), ask)


def _fill(action: KeepUnchanged, name: str, target: TableShape) -> Statement:
    """Give a column the value of the newest row that is not newer, unless the key was deleted in between."""
    events = action.events
    found = _known(action, name, target)
    terms: list[exp.Expr] = [exp.Ordered(this=column(key, "c"), nulls_first=False) for key in events.unique_key]
    terms += [exp.Ordered(this=column(item, "c"), desc=True, nulls_first=False) for item in events.version]
    terms += by_sequence(events, "c")
    terms.append(exp.Ordered(this=column(IS_DELETE, "c"), nulls_first=False))
    terms.append(exp.Ordered(this=content_of(target[name], "c"), desc=True, nulls_first=True))
    best = exp.select(*(column(item, "c") for item in (*events.unique_key, name, _SETTLED)))
    best = best.distinct(*(column(key, "c") for key in events.unique_key)).from_(found.subquery(quoted("c")))
    same = (exp.EQ(this=column(key, "w"), expression=column(key, "f")) for key in events.unique_key)
    rest = exp.func("array_remove", column(KEPT, "w"), exp.Literal.string(name))
    changes = [
        exp.EQ(this=column(name), expression=column(name, "f")),
        exp.EQ(this=column(KEPT), expression=rest),
    ]
    update = exp.Update(this=table(action.winners, "w"), expressions=changes)
    update.set("from_", exp.From(this=best.order_by(*terms).subquery(quoted("f"))))
    return statement(update.where(*same, column(_SETTLED, "f"), _leaves_out("w", name)))


def _known(action: KeepUnchanged, name: str, target: TableShape) -> exp.Union:
    """What is known of a column of the keys that leave it out: in the batch, in the target, among the tombstones."""
    events = action.events
    names = tuple(dict.fromkeys((*events.unique_key, *events.version)))
    none = exp.alias_(exp.cast(exp.null(), data_type(target[name].data_type)), name, quoted=True)
    later = newer(columns_of("k", events.version), columns_of("w", events.version))

    def known(rows: exp.Expr, value: exp.Expr, is_delete: exp.Expr, settled: exp.Expr, *, staged: bool) -> exp.Select:
        nothing = exp.cast(exp.null(), data_type("text"))
        sequence = (column(n, "k") if staged else exp.alias_(nothing, n, quoted=True) for n in events.sequence)
        flags = [exp.alias_(value, n, quoted=True) for n, value in ((IS_DELETE, is_delete), (_SETTLED, settled))]
        return _of_winners(action, name, rows, [*(column(n, "k") for n in names), value, *sequence, *flags])

    in_batch = events_of(events, target).subquery(quoted("k"))
    is_row = exp.not_(column(IS_DELETE, "k"))
    batch = known(in_batch, column(name, "k"), column(IS_DELETE, "k"), is_row, staged=True)
    batch = batch.where(exp.not_(_leaves_out("k", name)), exp.not_(later))
    there = known(table(action.target, "k"), column(name, "k"), exp.false(), exp.true(), staged=False)
    # A row below a tombstone is stale: no value is needed, unless it is kept softly.
    settled = exp.false() if events.soft else later.copy()
    buried = known(table(events.tombstones, "k"), none, exp.true(), settled, staged=False)
    if events.soft:
        buried = buried.where(exp.not_(later.copy()))
    both = exp.Union(this=batch, expression=there, distinct=False)
    return exp.Union(this=both, expression=buried, distinct=False)


def _of_winners(action: KeepUnchanged, name: str, rows: exp.Expr, selected: Sequence[exp.Expr]) -> exp.Select:
    key = action.events.unique_key
    same = exp.and_(*(exp.EQ(this=column(item, "k"), expression=column(item, "w")) for item in key))
    found = exp.select(*selected).from_(table(action.winners, "w")).join(rows, on=same)
    return found.where(_leaves_out("w", name))


def _leaves_out(alias: str, name: str) -> exp.Expr:
    return exp.EQ(this=exp.Literal.string(name), expression=exp.Any(this=exp.Paren(this=column(KEPT, alias))))

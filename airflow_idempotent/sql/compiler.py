"""Actions to statements for PostgreSQL 15 and newer: pure, one function per action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from sqlglot import exp

from airflow_idempotent.core.actions import (
    Action,
    CopyBatch,
    CreateStaging,
    CreateTarget,
    Deduplicate,
    EnsureChild,
    InspectBatch,
    MeasurePartition,
    RunChecks,
    UpsertRows,
)
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql import checks, create, measure
from airflow_idempotent.sql.dialects.postgres import OnCommitDrop
from airflow_idempotent.sql.order import best_first, newer, same
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, setting, statement, table

STATE = "idem_state"


def compile_action(action: Action, target: TableShape) -> tuple[Statement, ...]:
    """The statements an action stands for, in order. ``target`` is the table they are meant for."""
    match action:
        case CreateTarget():
            return create.create_target(action)
        case EnsureChild():
            return create.ensure_child(action)
        case CreateStaging():
            return (create_staging(action, target),)
        case CopyBatch():
            return (copy_batch(action),)
        case InspectBatch():
            return (measure.inspect_batch(action, target),)
        case Deduplicate():
            return deduplicate(action, target)
        case RunChecks():
            return checks.run_checks(action)
        case UpsertRows():
            return upsert_rows(action, target)
        case MeasurePartition():
            return (measure.measure_partition(action, target),)
        case _:
            assert_never(action)


def create_staging(action: CreateStaging, target: TableShape) -> Statement:
    """Columns take their types from the target; numerics with a scale keep all digits until inspected."""
    columns: list[exp.Expression] = []
    for item in target.select(action.columns):
        wide = exp.cast(column(item.name), data_type("numeric")) if item.scale is not None else column(item.name)
        columns.append(exp.alias_(wide, item.name, quoted=True))
    columns += [exp.alias_(exp.cast(exp.null(), data_type("text")), name, quoted=True) for name in action.ignored]
    return statement(_temporary(action.staging, exp.select(*columns).from_(table(action.target)), no_data=True))


def copy_batch(action: CopyBatch) -> Statement:
    """COPY by column names in the order of the part's header; the server skips the header and decodes."""
    form = action.format
    options = {
        "FORMAT": exp.var("csv"),
        "HEADER": exp.true() if form.header else exp.false(),
        "DELIMITER": exp.Literal.string(form.delimiter),
        "QUOTE": exp.Literal.string(form.quote),
        "NULL": exp.Literal.string(form.null),
        "ENCODING": exp.Literal.string(form.encoding),
    }
    copy = exp.Copy(
        this=exp.Schema(this=table(action.staging), expressions=[quoted(name) for name in action.part.columns]),
        kind=True,
        files=[exp.var("STDIN")],
        params=[exp.CopyParameter(this=exp.var(name), expression=value) for name, value in options.items()],
    )
    return statement(copy)


def deduplicate(action: Deduplicate, target: TableShape) -> tuple[Statement, ...]:
    """Winners in key order, each told apart against the target by an index probe; then their counts."""
    typed = exp.select(*(_as_target(target, name) for name in action.columns)).from_(table(action.staging)).subquery(quoted("b"))
    first = exp.select(*(column(name, "b") for name in action.columns)).from_(typed)
    first = first.distinct(*(column(name, "b") for name in action.unique_key))
    best = best_first("b", key=action.unique_key, version=action.version, columns=action.columns)
    chosen = first.order_by(*best).subquery(quoted("s"))
    known = exp.select(*(column(name, "s") for name in action.columns), exp.alias_(_state(action, target), STATE, quoted=True))
    joined = known.from_(chosen).join(_one_per_key(action, target), on=_on(action.unique_key), join_type="left")
    counts = exp.select(column(STATE), exp.Count(this=exp.Star())).from_(table(action.winners)).group_by(column(STATE))
    return (*_in_key_order(target, action.unique_key), statement(_temporary(action.winners, joined)), statement(counts))


def upsert_rows(action: UpsertRows, target: TableShape) -> tuple[Statement, ...]:
    """Update what is older, insert what is new, and update what a parallel writer inserted meanwhile.

    Three statements, in this order; the caller leaves out those that have nothing to do.
    """
    values = [name for name in action.columns if name not in action.unique_key]
    beats = newer("s", "t", version=action.version, columns=action.columns, target=target)

    def update(state: str) -> Statement:
        assignments = [exp.EQ(this=column(name), expression=column(name, "s")) for name in values or action.unique_key]
        tree = exp.Update(this=table(action.target, "t"), expressions=assignments, from_=exp.From(this=table(action.winners, "s")))
        return statement(tree.where(_is(state), _on(action.unique_key), beats))

    rows = exp.select(*(column(name, "s") for name in action.columns)).from_(table(action.winners, "s")).where(_is("new"))
    rows = rows.order_by(*(exp.Ordered(this=column(name, "s"), nulls_first=False) for name in action.unique_key))
    insert = exp.insert(rows, table(action.target), columns=[quoted(name) for name in action.columns])
    if target.is_unique(action.unique_key):
        insert.set("conflict", exp.OnConflict(conflict_keys=[quoted(name) for name in action.unique_key], action=exp.var("DO NOTHING")))
    return update("newer"), statement(insert), update("new")


def _one_per_key(action: Deduplicate, target: TableShape) -> exp.Expression:
    """The target as ``t``; where no index keeps keys unique, only the best row of each key."""
    if target.is_unique(action.unique_key):
        return table(action.target, "t")
    best = best_first("d", key=action.unique_key, version=action.version, columns=action.columns)
    rows = exp.select(*(column(name, "d") for name in action.columns)).from_(table(action.target, "d"))
    return rows.distinct(*(column(name, "d") for name in action.unique_key)).order_by(*best).subquery(quoted("t"))


def _state(action: Deduplicate, target: TableShape) -> exp.Expression:
    beats = newer("s", "t", version=action.version, columns=action.columns, target=target)
    return (
        exp.case()
        .when(column(action.unique_key[0], "t").is_(exp.null()), exp.Literal.string("new"))
        .when(beats, exp.Literal.string("newer"))
        .when(same("s", "t", action.columns), exp.Literal.string("same"))
        .else_(exp.Literal.string("stale"))
    )


def _as_target(target: TableShape, name: str) -> exp.Expression:
    """A staged column in the exact type of the target's."""
    item = target[name]
    return column(name) if item.scale is None else exp.alias_(exp.cast(column(name), data_type(item.data_type)), name, quoted=True)


def _on(key: Sequence[str]) -> exp.Expression:
    return exp.and_(*(exp.EQ(this=column(name, "s"), expression=column(name, "t")) for name in key))


def _is(state: str) -> exp.Expression:
    return exp.EQ(this=column(STATE, "s"), expression=exp.Literal.string(state))


def _in_key_order(target: TableShape, key: Sequence[str]) -> tuple[Statement, ...]:
    """Reach the target by its index in key order: fastest by measurement, and parallel writers cannot deadlock."""
    if not target.is_unique(key):
        return ()
    return setting("enable_hashjoin", "off"), setting("enable_mergejoin", "off")


def _temporary(name: str, rows: exp.Expression, *, no_data: bool = False) -> exp.Create:
    properties: list[exp.Expression] = [exp.TemporaryProperty(), OnCommitDrop()]
    if no_data:
        properties.append(exp.WithDataProperty(no=True))
    this = exp.table_(name, quoted=True)
    return exp.Create(kind="TABLE", this=this, expression=rows, properties=exp.Properties(expressions=properties))


__all__ = ["STATE", "compile_action"]

"""What becomes of a table whose columns differ from its spec's and its batch's: the four policies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from airflow_idempotent.core.actions import Action, AddColumns, DropColumns, WidenColumns
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.data_types import catalogue_spelling
from airflow_idempotent.core.drift import Retyped, SchemaChange, widens
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.words import meant

Defaults = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the policy says to a difference: what is to be done, and what cannot be."""

    change: SchemaChange
    problems: tuple[str, ...] = ()


def rule(spec: LoadSpec, target: TableShape, batch: tuple[str, ...], own: Collection[str]) -> Ruling:
    """Judge the columns of a table that exists. ``batch`` are its columns, ``own`` those that the strategy fills.

    A type is never changed where a value could be lost: that is a problem under each policy that
    looks at types, and under the others values that do not fit are refused one by one.
    """
    types = {column.name: catalogue_spelling(column.data_type) for column in spec.columns}
    retyped = tuple(
        Retyped(item.name, item.data_type, types[item.name])
        for item in target.columns
        if item.name in types and types[item.name] != item.data_type
    )
    unknown = tuple(name for name in dict.fromkeys((*types, *batch)) if name not in target)
    match spec.on_schema_change:
        case "ignore":
            return Ruling(SchemaChange(kept=retyped))
        case "fail":
            new = (name for name in unknown if name in batch)
            extra = (f"column {name!r} of the batch is not in the target{meant(name, target.names)}" for name in new)
            wider = tuple(item for item in retyped if widens(item.new, item.old))
            return Ruling(
                SchemaChange(kept=wider), (*extra, *(_differs(item) for item in retyped if item not in wider))
            )
        case "append_new_columns":
            added = tuple(Column(name, types.get(name, "text")) for name in unknown)
            return Ruling(SchemaChange(added=added, kept=retyped))
        case "sync_all_columns":
            return _synchronised(target, types, unknown, retyped, own)


def _synchronised(
    target: TableShape,
    types: Mapping[str, str],
    unknown: tuple[str, ...],
    retyped: tuple[Retyped, ...],
    own: Collection[str],
) -> Ruling:
    """The spec's columns are the truth: what it lacks goes, what it has comes, with its types where nothing is lost."""
    problems = [
        f"column {name!r} of the batch is not in 'columns'{meant(name, types)}" for name in unknown if name not in types
    ]
    problems += [_differs(item) for item in retyped if not item.widens]
    change = SchemaChange(
        added=tuple(Column(name, types[name]) for name in unknown if name in types),
        dropped=tuple(item.name for item in target.columns if item.writable and item.name not in (*types, *own)),
        retyped=tuple(item for item in retyped if item.widens),
    )
    return Ruling(change, tuple(problems))


def _differs(item: Retyped) -> str:
    change = "sync_all_columns would widen it" if item.widens else "values could be lost: alter the table by hand"
    return f"column {item.name!r} is {item.old} in the target, {item.new} in the spec; {change}"


def actions_of(change: SchemaChange, target: Relation, defaults: Defaults = ()) -> tuple[Action, ...]:
    """The change as actions, to be done before the load; columns come before others go."""
    found: list[Action] = []
    if change.added:
        found.append(AddColumns(target, change.added, defaults))
    if change.retyped:
        found.append(WidenColumns(target, change.retyped))
    if change.dropped:
        found.append(DropColumns(target, change.dropped))
    return tuple(found)


def changed_shape(target: TableShape, change: SchemaChange) -> TableShape:
    """The table as it will be."""
    types = {item.name: item.new for item in change.retyped}
    kept = (
        replace(item, data_type=types.get(item.name, item.data_type))
        for item in target.columns
        if item.name not in change.dropped
    )
    return replace(target, columns=(*kept, *change.added))

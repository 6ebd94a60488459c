"""What a swap does about everything that a table has and that hangs on it: carry it over, or refuse and say why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from airflow_idempotent.core.inventory import Difference, Inventory, Item, Kind, difference
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.carrying import When, carried
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.sql.swap import lock_exclusively

_FOLLOWS = Kind.VIEW_ABOVE
"""Stays with what it reads, which is carried over itself."""

_DESIGN = (Kind.INDEX, Kind.CONSTRAINT, Kind.FOREIGN_KEY, Kind.STATISTICS, Kind.COLUMN_OPTION, Kind.DEFAULT)
"""What a version may have been built without, where it is meant to differ."""

_AS_BUILT = (Kind.STORAGE_PARAMETER, Kind.TABLESPACE)
"""Where the new version is built otherwise, that is taken as meant; readers notice nothing."""


@dataclass(frozen=True, slots=True)
class Carrying:
    """Statements by when they are run, and in words: what is ``kept``, what is ``refused`` and how to mend it.

    ``notes`` are differences that are left as they are. ``first`` makes views again as they are, which locks them:
    whoever reads a view has it locked before the tables below it, so we must too. It also locks the tables whose
    foreign keys refer to the live one: whoever writes such a row has that table locked, and looks for its parent then.
    """

    before: tuple[Statement, ...] = ()
    first: tuple[Statement, ...] = ()
    moment: tuple[Statement, ...] = ()
    after: tuple[Statement, ...] = ()
    kept: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


DEPENDENTS = (Kind.VIEW, Kind.REFERENCE)
"""What is no part of the table: things of others that refer to it."""

_CARRY = "on_dependents: carry lets it follow to the new table"


def carrying(
    live: Inventory,
    shadow: Inventory,
    *,
    dependents: bool = False,
    as_built: bool = False,
    becomes: Relation | None = None,
) -> Carrying:
    """What gives ``shadow`` everything that ``live`` has. Where it has it already, nothing is done.

    ``dependents`` allows to make views and foreign keys of other tables refer to the new table; else they are refused.
    ``as_built`` leaves indexes, constraints and the like as the new table has them: it is meant to differ, or was
    live before. ``becomes`` is what the new table is called in the end where that is not the live one's name.
    """
    found = difference(live, shadow)
    refused = {item: lines for item in found.missing if (lines := [*_refused(item, dependents)])}
    left = {item for item in found.missing if _is_left(item, shadow, as_built)}
    left |= {item for item, there in found.other if item.kind in _AS_BUILT or _is_left(item, shadow, as_built)}
    pairs = [pair for pair in _pairs(live, shadow, found) if pair[0] not in left and pair[0] not in refused]
    wanted = sorted(pairs, key=lambda pair: (_ORDER.get(pair[0].kind, 1), pair[0]))
    steps = [
        (item.kind, at, text)
        for item, there in wanted
        for at, text in carried(item, live.relation, shadow.relation, there, becomes)
    ]
    before, moment, after = (tuple(text for _, at, text in steps if at is when) for when in When)
    return Carrying(
        before=before,
        first=(*(text for kind, _, text in steps if kind is Kind.VIEW), *lock_exclusively(_children(wanted))),
        moment=moment,
        after=after,
        kept=tuple(str(item) for item, _ in wanted),
        refused=tuple(line for lines in refused.values() for line in lines),
        notes=tuple(_notes(found, left)),
    )


def _children(wanted: Iterable[tuple[Item, Item | None]]) -> list[Relation]:
    """The tables whose foreign keys are to follow, each once."""
    return sorted({Relation(*item.facts[:2]) for item, _ in wanted if item.kind is Kind.REFERENCE}, key=str)


def _is_left(item: Item, shadow: Inventory, as_built: bool) -> bool:
    """Whether the new table is let go without a thing, or keeps its own."""
    if item.kind is Kind.INDEX and item.definition != "true":
        return True  # its making failed: it is no index
    if item.column and item.column not in shadow.columns:
        return True
    if as_built and item.kind in _AS_BUILT:
        return True
    about = item.kind is Kind.COMMENT and item.facts[0] in ("INDEX", "CONSTRAINT", "STATISTICS")
    return as_built and (about or item.kind in _DESIGN)


_ORDER = {Kind.OWNER: 0, Kind.REPLICA_IDENTITY: 2, Kind.PUBLICATION: 2, Kind.COMMENT: 3}
"""The owner first, since that changes grants; comments last, when all is there that they are about."""


def _pairs(live: Inventory, shadow: Inventory, found: Difference) -> Iterator[tuple[Item, Item | None]]:
    """What the shadow must get, and what it has in its place."""
    theirs = {(item.kind, item.name): item for item in shadow.items}
    yield from ((item, None) for item in found.missing if item.kind is not _FOLLOWS)
    for item, there in found.other:
        own_numbers = item.kind is Kind.DEFAULT and (Kind.SEQUENCE, item.name) in theirs
        if not own_numbers:
            yield item, there
    for item in live.of(Kind.SEQUENCE, Kind.IDENTITY):  # numbers go on from where they are, whatever else is equal
        same = theirs.get((item.kind, item.name))
        if same is not None and same == item:
            yield item, same


def _refused(item: Item, dependents: bool) -> Iterator[str]:
    """Why a thing that the shadow lacks cannot be given to it, and what to do."""
    match item.kind:
        case Kind.VIEW if not dependents:
            yield f"view {item.name} reads it: {_CARRY}"
        case Kind.REFERENCE if not dependents and item.facts[5] != "p":
            yield f"foreign key {item.name} refers to it: {_CARRY}"
        case Kind.MATERIALIZED_VIEW:
            _, _, definition, _, *indexes = item.facts
            again = "; ".join([f"CREATE MATERIALIZED VIEW {item.name} AS {_one_line(definition)}", *indexes])
            yield f"materialised view {item.name} reads it: drop it, swap, and make it again: {again}"
        case Kind.FUNCTION:
            yield f"function {item.name} is made for its rows: drop it, swap, and make it again"
        case Kind.ROW_TYPE:
            yield f"{item.name} is of its row type: give the column another type"
        case Kind.INHERITANCE:
            yield f"{item.name}: take it out by ALTER TABLE … NO INHERIT, swap, and put it in again"
        case Kind.REFERENCE if item.facts[5] == "p":
            yield f"foreign key {item.name}, a partitioned table: drop it, swap, and add it again"


def _notes(found: Difference, left: Collection[Item]) -> Iterator[str]:
    yield from (f"{item}: the new table has none" for item in found.missing if item in left)
    for item, there in found.other:
        if item in left:
            yield f"{item} is {item.definition or 'the default'}, of the new table {there.definition or 'the default'}"
    yield from (f"{item}: only the new table has it" for item in found.besides)


def _one_line(text: str) -> str:
    return " ".join(text.rstrip("; \n").split())

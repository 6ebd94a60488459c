"""What a swap does about everything that a table has and that hangs on it: carry it over, or refuse and say why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_idempotent.core.inventory import Difference, Inventory, Item, Kind, difference
from airflow_idempotent.sql.carrying import When, carried
from airflow_idempotent.sql.statement import Statement

_FOLLOWS = (Kind.VIEW_ABOVE,)
"""Stays with what it reads, which is carried over itself."""

_AS_BUILT = (Kind.STORAGE_PARAMETER, Kind.TABLESPACE)
"""Where the new version is built otherwise, that is taken as meant; readers notice nothing."""


@dataclass(frozen=True, slots=True)
class Carrying:
    """Statements by when they are run, and in words: what is ``kept``, what is ``refused`` and how to mend it.

    ``notes`` are differences that are left as they are.
    """

    before: tuple[Statement, ...] = ()
    moment: tuple[Statement, ...] = ()
    after: tuple[Statement, ...] = ()
    kept: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def carrying(live: Inventory, shadow: Inventory) -> Carrying:
    """What gives ``shadow`` everything that ``live`` has. Where it has it already, nothing is done."""
    found = difference(live, shadow)
    wanted = sorted(_wanted(live, shadow, found), key=lambda pair: (_ORDER.get(pair[0].kind, 1), pair[0]))
    steps = [step for item, there in wanted for step in carried(item, live.relation, shadow.relation, there)]
    before, moment, after = (tuple(text for at, text in steps if at is when) for when in When)
    return Carrying(
        before=before,
        moment=moment,
        after=after,
        kept=tuple(str(item) for item, _ in wanted),
        refused=tuple(line for item in found.missing for line in _refused(item)),
        notes=tuple(_notes(found)),
    )


_ORDER = {Kind.OWNER: 0, Kind.REPLICA_IDENTITY: 2, Kind.PUBLICATION: 2, Kind.COMMENT: 3}
"""The owner first, since that changes grants; comments last, when all is there that they are about."""


def _wanted(live: Inventory, shadow: Inventory, found: Difference) -> Iterator[tuple[Item, Item | None]]:
    """What to give, and what the shadow has in its place."""
    theirs = {(item.kind, item.name): item for item in shadow.items}
    for item in found.missing:
        if item.kind not in _FOLLOWS and not any(_refused(item)) and not _is_broken(item):
            yield item, None
    for item, there in found.other:
        own_numbers = item.kind is Kind.DEFAULT and (Kind.SEQUENCE, item.name) in theirs
        if item.kind not in _AS_BUILT and not own_numbers and not _is_broken(item):
            yield item, there
    for item in live.of(Kind.SEQUENCE, Kind.IDENTITY):  # numbers go on from where they are, whatever else is equal
        same = theirs.get((item.kind, item.name))
        if same is not None and same == item:
            yield item, same


def _is_broken(item: Item) -> bool:
    """An index whose making failed is no index."""
    return item.kind is Kind.INDEX and item.definition != "true"


def _refused(item: Item) -> Iterator[str]:
    """Why a thing that the shadow lacks cannot be given to it, and what to do."""
    match item.kind:
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


def _notes(found: Difference) -> Iterator[str]:
    for item, there in found.other:
        if item.kind in _AS_BUILT:
            yield f"{item} is {item.definition or 'the default'}, of the new table {there.definition or 'the default'}"
    for item in found.besides:
        yield f"{item}: only the new table has it"


def _one_line(text: str) -> str:
    return " ".join(text.rstrip("; \n").split())

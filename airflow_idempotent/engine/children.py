"""The child table of one partition changes places with a table built beside it: detached, attached, in one moment."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from airflow_idempotent.core.inventory import Inventory, Item, Kind
from airflow_idempotent.core.locks import locks_of
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.relation import Relation, short_name
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import SwapOrder, Version, VersionState, version_name
from airflow_idempotent.engine.altering import Patience
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.exchanging import (
    FIRST_PAUSE,
    SWAP,
    Held,
    changes_of,
    give,
    in_one_moment,
    keep_others_out,
    one_after_the_other,
)
from airflow_idempotent.engine.inventory import inventory
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import constraint_name
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import DependentsError, NoChildTableError, ShadowError
from airflow_idempotent.plan.carrying import Carrying, carrying
from airflow_idempotent.sql import children as sql
from airflow_idempotent.sql import swap as swap_sql
from airflow_idempotent.sql.attach import BOUNDS, child_of_range
from airflow_idempotent.sql.ledger import LOCK, LOCK_SHARED
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)
_BY_PARENT = (Kind.INHERITANCE, Kind.IDENTITY, Kind.SEQUENCE)
"""What a child has from the table it hangs on, and gets by hanging there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a child hangs: its parent, the bounds, the constraint that they mean, and how the parent is cut."""

    parent_oid: int
    parent: Relation
    bounds: str
    constraint: str
    key: str


def child_order(order: SwapOrder, *, connect: Connect) -> SwapOrder:
    """The order for the child of its partition: versions of a child are those of a table like any other.

    Raises:
        NoChildTableError: no child is of exactly this partition.
        ValueError: the key is none of a partition.
    """
    partition = Grain.named(order.partition, order.timezone)

    def work(session: Session, ledger: Ledger) -> SwapOrder:
        with session.transaction():
            _, parent = Journal(session).live(order.table)
            rows = session.query(sql.key_of(parent))
            name, data_type = rows[0] if rows else ("", "")
            start, end = partition.bounds(data_type)
            found = session.query(child_of_range(parent, start, end)) if rows else []
        if not found:
            bounds = {"start": str(start), "end": str(end)}
            raise NoChildTableError(table=order.table, partition=partition.key, column=name, **bounds)
        return replace(order, live=Relation(*found[0][:2]), partition="", within=(order.table, partition.key))

    return attempt_at(work, table=order.table, partition=partition.key, connect=connect, timeouts=order.timeouts)


def place_of(child: Version, session: Session) -> Place | None:
    """Where a table hangs; None when it is no child."""
    rows = session.query(sql.place_of(child.oid))
    if not rows:
        return None
    [(oid, schema, name, bounds, constraint, key)] = rows
    return Place(oid, Relation(schema, name), bounds, constraint, key)


def lock_partition(within: tuple[str, str] | None, place: Place, session: Session) -> None:
    """Keep loads of the partition out until the transaction ends; where nobody has named it, of the whole table."""
    name, partition = within or (str(place.parent), "")
    of_table, of_partition = locks_of(name, partition)
    with session.waiting():
        session.query(Statement(LOCK_SHARED if within else LOCK, {"key": of_table}))
        if within:
            session.query(Statement(LOCK, {"key": of_partition}))


def exchange_children(
    live: Version,
    coming: Version,
    leaves_as: VersionState,
    *,
    place: Place,
    within: tuple[str, str] | None,
    timeouts: Timeouts,
    session: Session,
    journal: Journal,
    held: Held,
    dependents: bool,
    as_built: bool,
) -> tuple[Version, Version, Carrying]:
    """Let ``coming`` hang where ``live`` hangs, by its name; both as written down, as ``exchange_names`` does.

    Rows are looked at, and keys and indexes built, before anybody waits; other partitions are left alone.

    Raises:
        ShadowError: rows lie outside of the partition, or a name is taken.
        DependentsError: something would stay behind, or be lost.
        LockTimeoutError: somebody read the table all the time; nothing was changed.
    """
    lock_partition(within, place, session)
    keep_others_out((live.relation, coming.relation), session)
    one_after_the_other(live, session)
    carried = _carried(live, coming, place, session, dependents=dependents)
    for statement in carried.before:
        give(statement, live, coming, session)
    _make_fit(live, coming, place, session)
    changes = changes_of(live, coming, session)
    left = journal.record(live, leaves_as, relation=version_name(live.relation, live.number), names=changes.names)
    come = journal.record(
        coming, VersionState.SWAPPED, relation=live.relation, source=str(coming.relation), message="", names=()
    )
    bounded = [sql.forget_bounds(live.relation)] if place.constraint else []
    moment = (swap_sql.rename_all(changes.renames), sql.attach(place.parent, live.relation, place.bounds), *bounded)

    def change() -> None:
        for statement in (*moment, *carried.moment):
            give(statement, live, coming, session)

    apart = (sql.detach(place.parent, live.relation), *swap_sql.lock_exclusively((coming.relation,)))
    patience = Patience(str(place.parent), SWAP, timeouts, pause=FIRST_PAUSE)
    once = in_one_moment((*carried.first, *apart), change, session, held)
    patience.spent_on(once, Ledger(session).holders_now)
    return left, come, carried


def _carried(live: Version, coming: Version, place: Place, session: Session, *, dependents: bool) -> Carrying:
    """What the child has and the coming table must get; what it has from its parent it gets from there.

    Raises:
        DependentsError: something cannot be carried over.
    """
    ours, theirs = (inventory(item.relation, item.oid, session) for item in (live, coming))
    parent = inventory(place.parent, place.parent_oid, session)
    own = [item for item in ours.items if not _of_parent(item, parent)]
    wanted = replace(ours, items=tuple(sorted({*own, *parent.of(Kind.FOREIGN_KEY)})))
    carried = carrying(wanted, theirs, dependents=dependents)
    held = tuple(f"{item}: its rows cannot be taken out from under it" for item in parent.of(Kind.REFERENCE))
    itself = (item for item in parent.of(Kind.FOREIGN_KEY) if item.facts[3] == "true")
    held += tuple(f"{item}: the table refers to itself" for item in itself)
    if losses := (*carried.refused, *held):
        raise DependentsError(table=live.table, shadow=str(coming.relation), losses=losses)
    for note in carried.notes:
        log.info("swap table=%s %s", live.table, note)
    return carried


def _of_parent(item: Item, parent: Inventory) -> bool:
    inherited = item.kind is Kind.TRIGGER and any(item.name == other.name for other in parent.of(Kind.TRIGGER))
    return inherited or item.kind in _BY_PARENT


def _make_fit(live: Version, coming: Version, place: Place, session: Session) -> None:
    """Look at the rows, and build keys and indexes, so that attaching has nothing to do any more.

    Raises:
        ShadowError: rows lie outside of the partition.
    """
    if place.constraint:
        try:
            session.execute(sql.within(coming.relation, place.constraint))
        except Exception as error:
            if constraint_name(error) != BOUNDS:
                raise
            why = f"it has rows outside of the partition {place.bounds}"
            raise ShadowError(table=live.table, shadow=str(coming.relation), reasons=(why,)) from error
    helper = Relation(live.relation.schema, short_name("idem_parent", live.table))
    for statement in sql.index_like(place.parent, coming.relation, helper, place.key, place.bounds):
        give(statement, live, coming, session)

"""A view is pointed at another version of its table, in one short moment of one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from airflow_idempotent.core.inventory import Inventory, Kind
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import RollbackOrder, SwapOrder, Version, VersionState, version_name
from airflow_idempotent.engine.altering import Patience
from airflow_idempotent.engine.children import exchange_children, place_of
from airflow_idempotent.engine.exchanging import (
    FIRST_PAUSE,
    SWAP,
    Held,
    exchange_names,
    give,
    in_one_moment,
    keep_others_out,
    one_after_the_other,
)
from airflow_idempotent.engine.inventory import inventory
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import facts_of
from airflow_idempotent.errors import DependentsError, ShadowError
from airflow_idempotent.plan.carrying import Carrying
from airflow_idempotent.plan.pointing import AS_INVOKER, Pointing, Sides, View, pointing
from airflow_idempotent.sql import pointing as sql

log = logging.getLogger(__name__)
Exchange = Callable[..., tuple[Version, Version, Carrying]]


def exchange_for(order: SwapOrder | RollbackOrder, live: Version, session: Session) -> Exchange:
    """How the versions change places: by their names, by what a view shows, or by where they hang.

    Without a word it stays as it is.
    """
    by, is_view = order.by if isinstance(order, SwapOrder) else None, live.relation != order.live
    if place := place_of(live, session):
        within = order.within if isinstance(order, SwapOrder) else None
        return partial(exchange_children, place=place, within=within)
    if is_view or by == "view":
        return partial(point_view, to_table=by == "rename")
    return exchange_names


def point_view(
    live: Version,
    coming: Version,
    leaves_as: VersionState,
    *,
    to_table: bool,
    timeouts: Timeouts,
    session: Session,
    journal: Journal,
    held: Held,
    dependents: bool,
    as_built: bool,
) -> tuple[Version, Version, Carrying]:
    """Make ``coming`` what the view of the table's name shows; both versions as written down, as ``exchange_names``.

    The first time the live table gets the name of its version, and the view takes its place; ``to_table`` is the way
    back, to a table of that name.

    Raises:
        ShadowError: the name for a version is taken by something else.
        DependentsError: something would stay behind, or be lost.
        LockTimeoutError: somebody read the table all the time; nothing was changed.
    """
    keep_others_out((live.relation, coming.relation), session)
    one_after_the_other(live, session)
    sides = _sides(live, coming, session, to_table=to_table)
    found = _pointing(sides, live, coming, session, dependents=dependents, as_built=as_built)
    for statement in found.carried.before:
        give(statement, live, coming, session)
    left = journal.record(live, leaves_as, relation=sides.live, names=())
    come = journal.record(
        coming, VersionState.SWAPPED, relation=sides.coming, source=str(coming.relation), message="", names=()
    )

    def change() -> None:
        for statement in found.moment:
            give(statement, live, coming, session)

    patience = Patience(live.table, SWAP, timeouts, pause=FIRST_PAUSE)
    patience.spent_on(in_one_moment(found.locks, change, session, held), Ledger(session).holders_now)
    return left, come, found.carried


def show_new_columns(public: Relation, behind: Relation, session: Session) -> None:
    """Let the view show columns that its table got since; in the transaction that adds them."""
    view, shape = _view(public, session), session.shape(behind)
    if view.oid and shape and len(view.columns) < len(shape.names) and not view.lost(shape):
        session.execute(sql.make_view(public, behind, view.shows(shape), view.options))


def _sides(live: Version, coming: Version, session: Session, *, to_table: bool) -> Sides:
    """Both versions and the view between them, read while nobody can alter them.

    Raises:
        ShadowError: a name is taken, or the coming table is gone.
    """
    view, shape = _view(Relation.parse(live.table), session), session.shape(coming.relation)
    names = [version_name(view.relation, item.number) for item in (live, coming)]
    if to_table:
        names[1] = view.relation
    for item, wanted in zip((live, coming), names, strict=True):
        if wanted not in (item.relation, view.relation) and facts_of(wanted, session) is not None:
            why = f"{wanted}, the name of version {item.number}, is taken"
            hint = f"Rename or drop {wanted}, which is no version of {live.table}; then swap again."
            raise ShadowError(table=live.table, shadow=str(coming.relation), reasons=(why,), hint=hint)
    if shape is None:
        raise ShadowError(table=live.table, shadow=str(coming.relation), reasons=("there is no such table",))
    left, come = (inventory(item.relation, item.oid, session) for item in (live, coming))
    name = inventory(view.relation, view.oid, session) if view.oid else left
    return Sides(view, name, left, come, shape, *names)


def _view(public: Relation, session: Session) -> View:
    rows = session.query(sql.view_of(public))
    if not rows:
        return View(public)
    [(oid, _, options, _)] = rows
    return View(public, oid, tuple((name, kind) for name, kind in session.query(sql.columns_of(oid))), tuple(options))


def _pointing(
    sides: Sides, live: Version, coming: Version, session: Session, *, dependents: bool, as_built: bool
) -> Pointing:
    """All that is to be done.

    Raises:
        DependentsError: something cannot be carried over.
    """
    options, refused = _options(sides, session)
    found = pointing(sides, options, dependents=dependents, as_built=as_built)
    if losses := (*refused, *found.carried.refused):
        raise DependentsError(table=live.table, shadow=str(coming.relation), losses=losses)
    for note in found.carried.notes:
        log.info("swap table=%s %s", live.table, note)
    return found


def _options(sides: Sides, session: Session) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of the view, and what is against it: policies must see who reads, not whose the view is."""
    options = sides.view.options
    if sides.to_table or AS_INVOKER in options or not (_is_secured(sides.left) or _is_secured(sides.come)):
        return options, ()
    [(server,)] = session.query(sql.SERVER)
    if server < sql.INVOKER_SINCE:
        return options, ("row level security: before PostgreSQL 15 a view reads as its owner: by: rename",)
    others = (item for item in options if not item.startswith(f"{sql.INVOKER}="))
    return (*others, AS_INVOKER), ()


def _is_secured(found: Inventory) -> bool:
    return any(item.facts == ("enabled", "true") for item in found.of(Kind.ROW_SECURITY))

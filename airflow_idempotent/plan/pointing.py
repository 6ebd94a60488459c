"""What a swap does where readers read a view: what the new table gets, what stays with the view, what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.inventory import Inventory, Item, Kind
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.renames import Rename
from airflow_idempotent.plan.carrying import Carrying, carrying
from airflow_idempotent.sql.pointing import INVOKER, dressed, drop_view, make_view
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.sql.swap import lock_exclusively, rename_all

AS_INVOKER = f"{INVOKER}=true"
_CHOSEN = (Kind.VIEW, Kind.MATERIALIZED_VIEW, Kind.FUNCTION, Kind.ROW_TYPE)
"""What refers to one version by the name of its table: it has chosen that version, and stays with it."""
_OF_THE_NAME = (Kind.OWNER, Kind.GRANT, Kind.COMMENT)
"""What belongs to the name that readers know, be it a table or a view."""
_OF_A_VIEW = (*_OF_THE_NAME, Kind.TRIGGER, Kind.DEFAULT)
"""What a view can have besides."""


@dataclass(frozen=True, slots=True)
class View:
    """What readers read as it is now: a view of ours, or (``oid`` 0) the table itself."""

    relation: Relation
    oid: int = 0
    columns: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()

    def shows(self, shape: TableShape) -> tuple[str, ...]:
        """The columns of a table in the order that it has them already; new ones come last."""
        known = [name for name, _ in self.columns if name in shape]
        return (*known, *(name for name in shape.names if name not in known))

    def lost(self, shape: TableShape) -> list[str]:
        """Columns that it has and that a table has not, or not so: CREATE OR REPLACE VIEW would refuse."""
        return [name for name, kind in self.columns if name not in shape or shape[name].data_type != kind]


@dataclass(frozen=True, slots=True)
class Sides:
    """Both versions and the name that readers know, by what each has; ``live`` and ``coming`` are their last names.

    ``shape`` is the coming table's. ``coming`` is the name itself where readers are to read a table again.
    """

    view: View
    name: Inventory
    left: Inventory
    come: Inventory
    shape: TableShape
    live: Relation
    coming: Relation

    @property
    def to_table(self) -> bool:
        return self.coming == self.view.relation


@dataclass(frozen=True, slots=True)
class Pointing:
    """``carried`` before, at and after; the ``locks`` in their order; all that is done in the ``moment``."""

    carried: Carrying
    locks: tuple[Statement, ...]
    moment: tuple[Statement, ...]


def pointing(sides: Sides, options: Sequence[str], *, dependents: bool, as_built: bool) -> Pointing:
    """Make the name that readers know show the coming version; ``options`` are those of the view.

    Each version keeps the names of its indexes and constraints: nobody gets to them by the name of a view.
    """
    closed = not (sides.to_table or AS_INVOKER in options)
    grants = () if closed else sides.name.of(Kind.GRANT)
    carried = _carried(sides, grants, dependents=dependents, as_built=as_built)
    both = ((sides.left.relation, sides.live), (sides.come.relation, sides.coming))
    renames = [Rename("TABLE", old.schema, old.name, new.name) for old, new in both if old != new]
    renamed = (rename_all(renames),) if renames else ()
    made = _made(sides, options, renamed)
    locks = (*carried.first, *_as_it_is(sides), *lock_exclusively([item.relation for item in renames]))
    return Pointing(carried, locks, (*made, *carried.moment))


def _carried(sides: Sides, grants: tuple[Item, ...], *, dependents: bool, as_built: bool) -> Carrying:
    """What the coming table must get. ``grants`` are those that readers need on it, besides those on the view."""
    live, public = sides.left, sides.view.relation
    in_place = live.relation != public
    stays = tuple(item for item in live.items if _stays(item, in_place))
    refused = [line for item in live.items for line in _refused(item, sides)]
    items = {item for item in live.items if item not in stays and item.kind not in (Kind.PUBLICATION, Kind.RULE)}
    found = carrying(
        replace(live, items=tuple(sorted(items | {*grants}))),
        sides.come,
        dependents=dependents,
        as_built=as_built,
        becomes=sides.coming,
    )
    told = (item for item in stays if item.kind is not Kind.GRANT and not _is_the_view(item, public))
    notes = (*found.notes, *(f"{item}: stays with {live.relation}" for item in told))
    return replace(found, refused=(*refused, *found.refused, *_hanging(sides)), notes=notes)


def _is_the_view(item: Item, public: Relation) -> bool:
    return item.kind is Kind.VIEW and Relation(*item.facts[:2]) == public


def _stays(item: Item, in_place: bool) -> bool:
    """Whether a thing is none of the new table's."""
    match item.kind:
        case Kind.GRANT | Kind.STATISTICS:
            return True
        case Kind.COMMENT:
            return item.facts[0] in ("INDEX", "CONSTRAINT", "STATISTICS")
        case Kind.REPLICA_IDENTITY:
            return item.facts[0] == "i"
        case _:
            return in_place and item.kind in _CHOSEN


def _refused(item: Item, sides: Sides) -> Iterator[str]:
    """What a view cannot take the place of."""
    if item.kind is Kind.PUBLICATION:
        yield f"publication {item.name}: subscribers know a table by its name, and each version has another: by: rename"
    if item.kind is Kind.RULE and item not in sides.come.items:
        yield f"rule {item.name}: give {sides.come.relation} one like it"


def _hanging(sides: Sides) -> Iterator[str]:
    """What keeps a view from being dropped: by a table in its place, or for columns that go or change their type."""
    view = sides.view
    if not view.oid or not (sides.to_table or view.lost(sides.shape)):
        return
    lost = f"column(s) {', '.join(view.lost(sides.shape))} of view {view.relation} go or change their type"
    why = f"view {view.relation} gives way to a table" if sides.to_table else lost
    for item in sides.name.of(*_CHOSEN, *([Kind.TRIGGER] if sides.to_table else [])):
        again = f": {_create(item)}" if item.kind in (Kind.VIEW, Kind.MATERIALIZED_VIEW) else ""
        yield f"{why}, and {item} hangs on it: drop it, swap, and make it again{again}"


def _create(item: Item) -> str:
    kind = "VIEW" if item.kind is Kind.VIEW else "MATERIALIZED VIEW"
    return f"CREATE {kind} {item.name} AS {' '.join(item.facts[2].rstrip('; ').split())}"


def _as_it_is(sides: Sides) -> tuple[Statement, ...]:
    """Lock the view first, as its readers do, by making it again as it is: ``LOCK TABLE`` would lock what it reads."""
    view = sides.view
    columns = [name for name, _ in view.columns]
    return (make_view(view.relation, sides.left.relation, columns, view.options),) if view.oid else ()


def _made(sides: Sides, options: Sequence[str], renamed: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """What makes the name show the coming table; with columns that go, or the first time, by a new view."""
    view, shape = sides.view, sides.shape
    if view.oid and not sides.to_table and not view.lost(shape):
        return (*renamed, make_view(view.relation, sides.coming, view.shows(shape), options))
    dropped = (drop_view(view.relation),) if view.oid else ()
    items = sides.name.of(*(_OF_A_VIEW if view.oid and not sides.to_table else _OF_THE_NAME))
    gets = dressed(view.relation, items, shape.names, is_view=not sides.to_table)
    if sides.to_table:
        return (*dropped, *renamed, *gets)
    return (*renamed, *dropped, make_view(view.relation, sides.coming, shape.names, options, replace=False), *gets)

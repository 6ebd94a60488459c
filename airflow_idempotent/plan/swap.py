"""Which names change hands in a swap: pure, from what two versions of a table have to where each name goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.renames import Exchange, Named, Rename
from airflow_idempotent.core.version import fitted

_ORDER = ("CONSTRAINT", "INDEX", "SEQUENCE", "STATISTICS", "TABLE")


def exchange(
    live: Sequence[Named],
    coming: Sequence[Named],
    *,
    table: Relation,
    retired: Relation,
    shadow: Relation,
    taken: Collection[str],
    known: Mapping[str, str],
) -> Exchange:
    """The renames that make ``coming`` the table ``table``, and what was live the table ``retired``.

    What has a counterpart gets its name, so that ``ON CONFLICT ON CONSTRAINT orders_pkey`` goes on to work after any
    number of swaps. What has none gets the name it had when it was live (``known``), else one after the table's.
    ``taken`` are the names of all other things of the schema; none of them is ever touched.
    """
    used = {*taken, *(item.name for item in coming if item.shares_namespace)}
    aside = [_aside(item, table, retired, used) for item in live if item.shares_namespace]
    freed = {item.old for item in aside}
    used |= {item.new for item in aside}
    arriving = _arriving(live, coming, table, shadow, used - freed, known)
    renames = [*_ordered(aside), _root(table, retired), *_apart(_ordered(arriving)), _root(shadow, table)]
    return Exchange(
        tuple(item for item in renames if item.old != item.new), tuple((item.new, item.old) for item in aside)
    )


def _aside(item: Named, table: Relation, retired: Relation, used: set[str]) -> Rename:
    """Where a name of the live table is put aside: ``orders_pkey`` becomes ``orders__v1_pkey``."""
    rest = item.name.removeprefix(table.name).lstrip("_") if item.name.startswith(table.name) else item.name
    new = fitted(f"{retired.name}_{rest}", f"{retired.name}_{item.name}")
    for number in range(2, 1000):
        if new not in used:
            break
        new = fitted(f"{retired.name}_{rest}_{number}", f"{retired.name}_{item.name}", f"_{number}")
    used.add(new)
    return Rename(item.kind, item.schema, item.name, new, item.of)


def _arriving(
    live: Sequence[Named],
    coming: Sequence[Named],
    table: Relation,
    shadow: Relation,
    used: set[str],
    known: Mapping[str, str],
) -> list[Rename]:
    """What the things of the coming version will be called: first those with a counterpart, then the others."""
    counterparts: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in sorted(live, reverse=True):
        counterparts[item.key].append(item.name)
    found: list[Rename] = []
    unmatched: list[Named] = []
    given: set[tuple[str, str]] = set()
    for item in sorted(coming):
        if names := counterparts[item.key]:
            found.append(Rename(item.kind, item.schema, item.name, names.pop(), item.of))
            given.add((_space(item), found[-1].new))
        else:
            unmatched.append(item)
    for item in unmatched:
        new = known.get(item.name) or _after(item.name, shadow, table)
        free = (_space(item), new) not in given and not (item.shares_namespace and new in used)
        if free and new != item.name:
            found.append(Rename(item.kind, item.schema, item.name, new, item.of))
            given.add((_space(item), new))
    return found


def _space(item: Named) -> str:
    """Within what a name must be the only one: the schema, or for a constraint its table."""
    return "" if item.shares_namespace else item.of


def _after(name: str, shadow: Relation, table: Relation) -> str:
    """``orders__v2_status_idx`` as ``orders_status_idx``; a name that has nothing of its table's stays."""
    begun = name.startswith(f"{shadow.name}_")
    return fitted(table.name + name.removeprefix(shadow.name), name) if begun else name


def _ordered(renames: Sequence[Rename]) -> list[Rename]:
    """Constraints before the tables that they are named at."""
    return sorted(renames, key=lambda item: (_ORDER.index(item.kind), item.old))


def _apart(renames: Sequence[Rename]) -> list[Rename]:
    """Constraints of one table that exchange names among themselves go by a name between."""
    held = {(item.of, item.old) for item in renames if item.kind == "CONSTRAINT"}
    first: list[Rename] = []
    then: list[Rename] = []
    for number, item in enumerate(renames):
        if item.kind == "CONSTRAINT" and item.new != item.old and (item.of, item.new) in held:
            between = f"idem_between_{number}"
            first.append(replace(item, new=between))
            item = replace(item, old=between)
        then.append(item)
    return [*first, *then]


def _root(old: Relation, new: Relation) -> Rename:
    return Rename("TABLE", old.schema, old.name, new.name)

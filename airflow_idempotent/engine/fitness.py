"""Whether a shadow may take the place of the live table: its kind, its columns and keys, and that it has rows."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.version import SwapOrder, Version
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import facts_of
from airflow_idempotent.errors import ShadowError
from airflow_idempotent.sql import swap as sql


def refuse_unfit(order: SwapOrder, live: Version, coming: Version, session: Session) -> None:
    """Stop before a table goes live that readers could not read as they do now.

    Raises:
        ShadowError: all that is wrong with it.
    """
    found = facts_of(live.relation, session)
    hangs = bool(found and found.is_child)  # then it gets its keys by hanging there
    reasons = [*_of_another_kind(live, coming, session)]
    if not reasons:
        ours, theirs = session.shape(live.relation), session.shape(coming.relation)
        if ours and theirs and not order.allow_changes:
            reasons += differences(ours, theirs, keys=not hangs)
        if not order.allow_empty and _has_rows(live, session) and not _has_rows(coming, session):
            reasons.append("it has no rows, the live table has some (allow_empty lets it)")
    if reasons:
        raise ShadowError(table=order.table, shadow=str(coming.relation), reasons=tuple(reasons))


def _of_another_kind(live: Version, coming: Version, session: Session) -> Iterator[str]:
    if coming.relation.schema != live.relation.schema:
        yield f"it is in schema {coming.relation.schema!r}, the live table in {live.relation.schema!r}"
    facts = {"live table": facts_of(live.relation, session), "shadow": facts_of(coming.relation, session)}
    for what, found in facts.items():
        if found and found.kind not in ("r", "p"):
            yield f"the {what} is no table"
        if found and found.is_child and what == "shadow":
            yield f"the {what} is a child of a partitioned table"


def differences(live: TableShape, shadow: TableShape, *, keys: bool = True) -> Iterator[str]:
    """What readers and writers of the live table would notice: columns, their types and order, NULLs, keys."""
    for item in live.columns:
        if item.name not in shadow:
            yield f"column {item.name} is missing"
            continue
        other = shadow[item.name]
        if other.data_type != item.data_type:
            yield f"column {item.name} is {other.data_type}, not {item.data_type}"
        if other.nullable != item.nullable:
            yield f"column {item.name} {'may' if other.nullable else 'may not'} be NULL, unlike that of the live table"
    added = [item.name for item in shadow.columns if item.name not in live]
    if added:
        yield f"column(s) {', '.join(added)} are not in the live table (allow_changes lets them)"
    elif shadow.names != live.names:
        yield f"its columns are in another order: {', '.join(shadow.names)}"
    for key in live.unique_keys if keys else ():
        if key not in shadow.unique_keys:
            yield f"no unique key ({', '.join(sorted(key))})"


def _has_rows(version: Version, session: Session) -> bool:
    [(found,)] = session.query(sql.has_rows(version.relation))
    return bool(found)

"""What a table has and what hangs on it, read from the catalogue."""

from __future__ import annotations

from airflow_idempotent.core.inventory import Inventory, Item, Kind
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql.inventory import SEARCH_PATH, hanging_on, own
from airflow_idempotent.sql.statement import setting


def inventory(relation: Relation, oid: int, session: Session) -> Inventory:
    """Everything, as of now; only read, within the transaction that is open."""
    [(before, _)] = session.query(SEARCH_PATH)
    rows = [row for statement in (own(oid), hanging_on(oid)) for row in session.query(statement)]
    session.query(setting("search_path", before))
    items = (Item(Kind(kind), name, definition or "", tuple(facts)) for kind, name, definition, facts in rows)
    shape = session.shape(relation)
    return Inventory(relation, oid, shape.names if shape else (), tuple(sorted(items)))

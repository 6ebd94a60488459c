"""How tables look now, for those who only tell of them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.session import Session

TIMEOUTS = Timeouts(lock=2, statement=5)


def shapes(relations: Iterable[Relation], connect: Connect) -> dict[Relation, TableShape]:
    """The tables as the catalogue describes them; those that are not there are left out. Nothing is written."""
    with closing(connect()) as connection:
        session = Session(connection, timeouts=TIMEOUTS, application_name="airflow_idempotent lineage")
        with session.transaction(snapshot=True):
            found = {relation: session.shape(relation, views=True) for relation in relations}
    return {relation: shape for relation, shape in found.items() if shape is not None}

"""What a shadow needs before it is swapped in and could do without while it was filled: pure, from two inventories."""

from __future__ import annotations

from airflow_idempotent.core.inventory import Inventory, Kind, difference
from airflow_idempotent.sql.carrying import carried
from airflow_idempotent.sql.statement import Statement


def indexes_to_build(live: Inventory, shadow: Inventory, *, unique: bool) -> tuple[Statement, ...]:
    """CREATE INDEX for each index that the live table has and the shadow has not; those that keep keys ``unique``, too.

    An index of the live table whose making failed is none.
    """
    wanted = [item for item in difference(live, shadow).missing if item.kind is Kind.INDEX]
    valid = (item for item in wanted if item.definition == "true" and (unique or not item.facts[0]))
    return tuple(made for item in valid for _, made in carried(item, live.relation, shadow.relation))

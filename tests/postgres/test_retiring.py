"""Retired versions: kept for a while, pinned, dropped; never anything that the journal does not name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import Keeping, RollbackOrder, SwapOrder
from airflow_idempotent.engine.retiring import CleanedUp, clean_up, pin, versions_of
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.errors import RollbackError
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

ORDERS = Relation("public", "orders")
NOTHING = Keeping(timedelta(0), 0)


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    """Version 4 is live, 1 to 3 are retired."""
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders AS SELECT 1 AS version")
    for number in range(2, 5):
        found.sql(f"CREATE TABLE new AS SELECT {number} AS version")
        swap(SwapOrder(ORDERS, Relation("public", "new")), connect=connect_once)
    return found


def cleaned(warehouse: Warehouse, keeping: Keeping) -> CleanedUp:
    return clean_up(ORDERS, keeping, connect=warehouse.connect, timeouts=Timeouts(lock=5))


def states(warehouse: Warehouse) -> list[str]:
    return [str(version.state) for version in versions_of(None, connect=warehouse.connect)]


def test_a_version_stays_as_long_as_either_rule_keeps_it(warehouse: Warehouse) -> None:
    assert cleaned(warehouse, Keeping(timedelta(days=7), 0)) == CleanedUp()
    assert cleaned(warehouse, Keeping(timedelta(0), 3)) == CleanedUp()

    done = cleaned(warehouse, Keeping(timedelta(0), 1))

    assert sorted(done.dropped) == ["public.orders__v1", "public.orders__v2"]
    assert states(warehouse) == ["DROPPED", "DROPPED", "RETIRED", "SWAPPED"]
    assert cleaned(warehouse, Keeping(timedelta(0), 1)) == CleanedUp()
    assert warehouse.sql("SELECT version FROM orders") == [(4,)]
    with pytest.raises(RollbackError, match="it is DROPPED"):
        rollback(RollbackOrder(ORDERS, to=1), connect=warehouse.connect)


def test_a_pinned_version_outlives_every_rule_until_it_is_unpinned(warehouse: Warehouse) -> None:
    before = versions_of("public.orders", connect=warehouse.connect)
    pin(ORDERS, 2, why="training set", connect=warehouse.connect)
    pin(ORDERS, 2, why="again", connect=warehouse.connect)

    cleaned(warehouse, NOTHING)
    assert states(warehouse) == ["DROPPED", "RETIRED", "DROPPED", "SWAPPED"]
    now = versions_of("public.orders", connect=warehouse.connect)
    assert (now[1].pinned, now[1].message, now[1].since) == (True, "training set", before[1].since)

    pin(ORDERS, 2, pinned=False, connect=warehouse.connect)
    assert cleaned(warehouse, NOTHING).dropped == ("public.orders__v2",)
    with pytest.raises(RollbackError, match="it was dropped at"):
        pin(ORDERS, 2, connect=warehouse.connect)


def test_another_table_that_has_the_name_now_is_left(warehouse: Warehouse) -> None:
    warehouse.sql("DROP TABLE orders__v1")
    warehouse.sql("CREATE TABLE orders__v1 AS SELECT 99 AS version")
    warehouse.sql("DROP TABLE orders__v2")

    done = cleaned(warehouse, NOTHING)

    assert done.left == (("public.orders__v1", "another table has its name"),)
    assert warehouse.sql("SELECT version FROM orders__v1") == [(99,)]
    assert states(warehouse) == ["RETIRED", "DROPPED", "DROPPED", "SWAPPED"]


def test_what_something_hangs_on_is_left_with_it(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE VIEW seen AS SELECT * FROM orders__v1")

    done = cleaned(warehouse, NOTHING)

    assert [name for name, _ in done.left] == ["public.orders__v1"]
    assert warehouse.sql("SELECT version FROM seen") == [(1,)]


def test_a_version_that_is_live_again_is_never_dropped(warehouse: Warehouse) -> None:
    rollback(RollbackOrder(ORDERS, to=1), connect=warehouse.connect)

    cleaned(warehouse, NOTHING)

    assert warehouse.sql("SELECT version FROM orders") == [(1,)]
    assert states(warehouse) == ["SWAPPED", "DROPPED", "DROPPED", "DROPPED"]


def test_looking_makes_no_ledger(connect_once: Connect) -> None:
    assert versions_of(None, connect=connect_once) == ()
    assert Warehouse(connect_once).sql("SELECT to_regnamespace('airflow_idempotent')") == [(None,)]

"""Sessions older than a swap: snapshots, cursors, prepared statements across it, as docs/how-to/swap.md tells.

A session that has read the table is waited for, so that these are the ones that have not, or not in this transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import By, SwapOrder
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.errors import LockTimeoutError
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

OLD, NEW = [("old",)], [("new",)]
WAYS: tuple[By, ...] = ("rename", "view")
LEVELS = ("REPEATABLE READ", "SERIALIZABLE")


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, v text); INSERT INTO orders VALUES (1, 'old')")
    found.sql("CREATE TABLE other AS SELECT 1 AS id")
    return found


def shadow(warehouse: Warehouse, value: str = "new", more: str = "") -> None:
    warehouse.sql(f"CREATE TABLE orders_new (id int PRIMARY KEY, v text{more})")
    warehouse.sql(f"INSERT INTO orders_new (id, v) VALUES (1, '{value}')")


def swapped(warehouse: Warehouse, by: By, lock: float = 30, *, changes: bool = False) -> None:
    order = SwapOrder(
        Relation.parse("orders"), Relation.parse("orders_new"), by=by, allow_changes=changes, timeouts=Timeouts(lock)
    )
    swap(order, connect=warehouse.connect)


@pytest.fixture(params=WAYS)
def by(request: pytest.FixtureRequest, warehouse: Warehouse) -> By:
    """Either way, the second time: the table is published so already."""
    shadow(warehouse, "old")
    swapped(warehouse, request.param)
    return request.param


@contextmanager
def reading(warehouse: Warehouse, level: str) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    """A transaction whose snapshot is taken, by reading another table."""
    with closing(warehouse.connect()) as connection, connection.cursor() as cursor:

        def ask(text: str) -> list[tuple[Any, ...]]:
            cursor.execute(text)
            return list(cursor.fetchall())

        cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        ask("SELECT id FROM other")
        yield ask
        connection.rollback()


@pytest.mark.parametrize("level", LEVELS)
def test_a_snapshot_that_saw_the_shadow_full_reads_the_new_version(warehouse: Warehouse, by: By, level: str) -> None:
    shadow(warehouse)
    with reading(warehouse, level) as ask:
        swapped(warehouse, by)

        assert ask("SELECT v FROM orders") == NEW


@pytest.mark.parametrize("level", LEVELS)
def test_a_snapshot_older_than_the_rows_of_the_new_version_reads_none(warehouse: Warehouse, by: By, level: str) -> None:
    with reading(warehouse, level) as ask:
        shadow(warehouse)
        swapped(warehouse, by)

        assert ask("SELECT v FROM orders") == []
        assert ask("SELECT v FROM orders__v2") == OLD


@pytest.mark.parametrize("level", ["READ COMMITTED", *LEVELS])
def test_a_transaction_that_has_read_the_table_is_waited_for_and_reads_on(
    warehouse: Warehouse, by: By, level: str
) -> None:
    shadow(warehouse)
    with reading(warehouse, level) as ask:
        ask("SELECT v FROM orders")
        with pytest.raises(LockTimeoutError, match=r"pid \d+"):
            swapped(warehouse, by, lock=0.5)

        assert ask("SELECT v FROM orders") == OLD
    swapped(warehouse, by)


def test_an_open_cursor_is_waited_for(warehouse: Warehouse, by: By) -> None:
    shadow(warehouse)
    with reading(warehouse, "READ COMMITTED") as ask:
        with warehouse.session() as cursor:
            cursor.execute("DECLARE slow CURSOR FOR SELECT v FROM orders")
            with pytest.raises(LockTimeoutError):
                swapped(warehouse, by, lock=0.5)
            cursor.execute("FETCH ALL FROM slow")
            assert cursor.fetchall() == OLD
        swapped(warehouse, by)
        assert ask("SELECT v FROM orders") == NEW


def test_a_cursor_that_outlives_its_transaction_reads_what_was_there(warehouse: Warehouse, by: By) -> None:
    shadow(warehouse)
    with closing(warehouse.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("DECLARE kept CURSOR WITH HOLD FOR SELECT v FROM orders")
        connection.commit()
        swapped(warehouse, by)

        cursor.execute("FETCH ALL FROM kept")
        assert cursor.fetchall() == OLD
        connection.rollback()


def test_a_prepared_statement_reads_the_new_version(warehouse: Warehouse, by: By) -> None:
    with closing(warehouse.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("PREPARE asked (int) AS SELECT v FROM orders WHERE id = $1")
        for _ in range(7):  # until the plan is a generic one, and kept
            cursor.execute("EXECUTE asked (1)")
            assert cursor.fetchall() == OLD
        connection.commit()
        shadow(warehouse)
        swapped(warehouse, by)

        cursor.execute("EXECUTE asked (1)")
        assert cursor.fetchall() == NEW
        connection.rollback()


def test_a_prepared_star_fails_once_the_columns_are_others(warehouse: Warehouse, by: By) -> None:
    with closing(warehouse.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("PREPARE asked AS SELECT * FROM orders; PREPARE named AS SELECT v FROM orders")
        connection.commit()
        shadow(warehouse, more=", extra int")
        swapped(warehouse, by, changes=True)

        cursor.execute("EXECUTE named")
        assert cursor.fetchall() == NEW
        connection.commit()
        with pytest.raises(Exception, match="cached plan must not change result type"):
            cursor.execute("EXECUTE asked")
        connection.rollback()


def test_an_exchanged_partition_is_empty_for_a_snapshot_older_than_its_rows(warehouse: Warehouse) -> None:
    for text in (
        "CREATE TABLE sales (day date, v text) PARTITION BY RANGE (day)",
        "CREATE TABLE sales_may PARTITION OF sales FOR VALUES FROM ('2025-05-01') TO ('2025-06-01')",
        "INSERT INTO sales VALUES ('2025-05-01', 'old')",
    ):
        warehouse.sql(text)

    def exchanged(name: str) -> None:
        order = SwapOrder(Relation.parse("sales"), Relation.parse(name), partition="2025-05")
        swap(order, connect=warehouse.connect)

    def aside(name: str, value: str) -> None:
        warehouse.sql(f"CREATE TABLE {name} AS SELECT date '2025-05-02' AS day, '{value}'::text AS v")

    aside("built", "new")
    with reading(warehouse, "REPEATABLE READ") as ask:
        exchanged("built")
        assert ask("SELECT v FROM sales") == NEW
    with reading(warehouse, "REPEATABLE READ") as ask:
        aside("later", "newer")
        exchanged("later")
        assert ask("SELECT v FROM sales") == []


def test_a_writer_with_an_older_snapshot_writes_the_new_version(warehouse: Warehouse, by: By) -> None:
    shadow(warehouse)
    with reading(warehouse, "REPEATABLE READ") as ask:
        swapped(warehouse, by)

        assert ask("UPDATE orders SET v = 'mine' RETURNING v") == [("mine",)]
        assert ask("SELECT v FROM orders__v2") == OLD

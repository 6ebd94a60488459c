"""What the pages about swaps say in passing: each sentence that a reader would rely on, tried."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import SwapOrder
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.errors import DependentsError
from tests.cli_fixtures import Command
from tests.loading import Warehouse
from tests.orders_folder import FIRST, deliver, edit
from tests.postgres_fixtures import Connect

ORDERS = Relation("public", "orders")


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, v text); INSERT INTO orders VALUES (1, 'old')")
    return found


def swapped(warehouse: Warehouse, **words: Any) -> None:
    order = SwapOrder(ORDERS, Relation("public", "orders_new"), timeouts=Timeouts(lock=30), **words)
    swap(order, connect=warehouse.connect)


def test_a_prepared_query_that_names_its_columns_does_not_notice_a_new_one(warehouse: Warehouse) -> None:
    with closing(warehouse.connect()) as connection:
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute("PREPARE named AS SELECT v FROM orders; PREPARE starred AS SELECT * FROM orders")
        cursor.execute("EXECUTE named; EXECUTE starred")
        warehouse.sql("CREATE TABLE orders_new (id int PRIMARY KEY, w int, v text)")
        warehouse.sql("INSERT INTO orders_new VALUES (1, 1, 'new')")
        swapped(warehouse, allow_changes=True)

        cursor.execute("EXECUTE named")
        assert cursor.fetchall() == [("new",)]
        for _ in range(2):
            with pytest.raises(Exception, match="cached plan must not change result type"):
                cursor.execute("EXECUTE starred")
        cursor.execute("DEALLOCATE starred; PREPARE starred AS SELECT * FROM orders")
        cursor.execute("EXECUTE starred")
        assert cursor.fetchall() == [(1, 1, "new")]


def test_a_view_with_a_star_keeps_the_columns_that_it_had(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE VIEW seen AS SELECT * FROM orders")
    warehouse.sql("CREATE TABLE orders_new (id int PRIMARY KEY, w int, v text)")
    warehouse.sql("INSERT INTO orders_new VALUES (1, 1, 'new')")

    swapped(warehouse, allow_changes=True, on_dependents="carry")

    assert warehouse.sql("SELECT * FROM seen") == [(1, "new")]


@pytest.mark.parametrize(
    ("keys", "follows"), [("PRIMARY KEY (id, v), UNIQUE (id)", True), ("PRIMARY KEY (id, v)", False)]
)
def test_a_foreign_key_follows_to_a_new_key_where_the_old_one_is_still_unique(
    warehouse: Warehouse, keys: str, follows: bool
) -> None:
    warehouse.sql("CREATE TABLE lines (order_id int REFERENCES orders); INSERT INTO lines VALUES (1)")
    warehouse.sql(f"CREATE TABLE orders_new (id int, v text, {keys}); INSERT INTO orders_new VALUES (1, 'new')")

    if follows:
        swapped(warehouse, allow_changes=True, on_dependents="carry")
    else:
        with pytest.raises(DependentsError, match="no unique constraint matching given keys"):
            swapped(warehouse, allow_changes=True, on_dependents="carry")

    assert warehouse.sql("SELECT v FROM orders") == [("new" if follows else "old",)]


def test_a_new_key_has_the_name_of_the_old_one_so_that_code_may_know_it_by_that(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders_new (id bigint, v text, PRIMARY KEY (id, v))")
    warehouse.sql("INSERT INTO orders_new VALUES (1, 'new')")
    insert = "INSERT INTO orders VALUES (1, 'new') ON CONFLICT ON CONSTRAINT orders_pkey DO NOTHING"
    warehouse.sql(insert)

    swapped(warehouse, allow_changes=True)

    warehouse.sql(insert)
    assert warehouse.sql("SELECT count(*) FROM orders") == [(1,)]


def test_a_shadow_with_partitions_takes_the_place_of_a_table_with_a_storage_parameter(warehouse: Warehouse) -> None:
    warehouse.sql("ALTER TABLE orders SET (fillfactor = 85)")
    warehouse.sql("CREATE TABLE orders_new (id int PRIMARY KEY, v text) PARTITION BY HASH (id)")
    warehouse.sql("CREATE TABLE orders_new_0 PARTITION OF orders_new FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    warehouse.sql("INSERT INTO orders_new VALUES (1, 'new')")

    swapped(warehouse, allow_changes=True)

    assert warehouse.sql("SELECT v FROM orders_0") == [("new",)]


def test_at_repeatable_read_a_table_swapped_in_since_has_only_rows_older_than_the_transaction(
    warehouse: Warehouse,
) -> None:
    with closing(warehouse.connect()) as connection:
        cursor = connection.cursor()
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT 1")
        warehouse.sql("CREATE TABLE orders_new (LIKE orders INCLUDING ALL); INSERT INTO orders_new VALUES (1, 'new')")
        swapped(warehouse)

        cursor.execute("SELECT v FROM orders")
        assert cursor.fetchall() == []  # the pages say so
        connection.rollback()
        cursor.execute("SELECT v FROM orders")
        assert cursor.fetchall() == [("new",)]


def test_a_spec_is_swapped_in_by_its_own_rules(
    folder: Path, database: str, command: Command, connect_once: Connect
) -> None:
    spec, dsn = "tables/orders.yaml", ("--dsn", database)
    header, *lines = FIRST.replace("2025-05-01", "2025-05-02").splitlines()
    deliver(folder, "2025-05-02", "\n".join([header, *(f"9{line}" for line in lines)]))
    days = [word for day in (1, 2) for word in ("--partition", f"2025-05-0{day}")]
    assert command("run", spec, *days, *dsn).code == 0
    Warehouse(connect_once).sql("CREATE VIEW seen AS SELECT order_id FROM analytics.orders")
    edit(folder, "unique_key: [order_id]", "unique_key: [order_id, order_date]\ntable_version: 2\npublish: swap")

    assert command("run", spec, *days[:2], "--target", "shadow", *dsn).code == 0
    waits = command("swap", spec, *dsn)
    assert (waits.code, "partition 2025-05-02 is missing" in waits.err) == (1, True)

    span = ("--from-date", "2025-05-01", "--to-date", "2025-05-03", "--reprocess-behavior", "missing")
    missing = command("run", spec, *span, "--target", "shadow", "--json", *dsn)
    assert (missing.code, [found["partition"] for found in missing.document["partitions"]]) == (0, ["2025-05-02"])
    refused = command("swap", spec, *dsn)
    assert (refused.code, "view public.seen reads it" in refused.err) == (1, True)

    done = command("swap", spec, "--on-dependents", "carry", "--json", *dsn)
    assert (done.code, done.document["version"]) == (0, 2)
    assert command("swap", spec, "--json", *dsn).document["replayed"]


@pytest.mark.parametrize("words", [("--version", "3"), ("--partition", "2025-05-01")], ids=" ".join)
def test_a_spec_says_itself_which_version_is_meant(
    folder: Path, database: str, command: Command, words: tuple[str, ...]
) -> None:
    asked = command("swap", "tables/orders.yaml", *words, "--dsn", database)

    assert (asked.code, "table_version" in asked.err) == (2, True)

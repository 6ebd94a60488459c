"""Waiting for others: short and in turns where a table is altered, up to lock_timeout where another run is at work."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from airflow_idempotent.core.step import Effects, Receipt
from airflow_idempotent.errors import LockTimeoutError, StatementTimeoutError
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.strategies import InsertOverwrite
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

GROWING = LoadSpec(table="orders", unique_key="id", on_schema_change="append_new_columns", lock_timeout=30)
PLAIN = LoadSpec(table="orders", unique_key="id", lock_timeout=30)
BY_DAY = LoadSpec(
    table="orders", unique_key=["id", "d"], partition_by={"column": "d", "declarative": True}, lock_timeout=30
)
WAITS = (
    "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()"
)


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    return Warehouse(connect_once)


@pytest.fixture
def orders(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text)")
    return warehouse


@contextmanager
def reading(warehouse: Warehouse, table: str = "orders") -> Iterator[Any]:
    """A reader with an open transaction."""
    with warehouse.session() as reader:
        reader.execute("SET application_name = 'a long report'")
        reader.execute(f"SELECT count(*) FROM {table}")
        yield reader


@contextmanager
def loading(warehouse: Warehouse, spec: LoadSpec, text: str, **options: Any) -> Iterator[Future[Receipt]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(lambda: warehouse.load(spec, text, **options))


# --- a reader in the way of ALTER TABLE ------------------------------------------------------------------------------


def test_a_reader_of_three_seconds_does_not_fail_a_load_that_adds_a_column(
    orders: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    longest = 0.0
    with caplog.at_level(logging.INFO), reading(orders) as reader, loading(orders, GROWING, "id,v,n\n1,a,1\n") as load:
        until = time.monotonic() + 3.2
        while time.monotonic() < until:
            begun = time.monotonic()
            orders.sql("SELECT count(*) FROM orders")  # others read on, they queue for a moment at most
            longest = max(longest, time.monotonic() - begun)
            time.sleep(0.05)
        assert not load.done()
        reader.execute("ROLLBACK")
        receipt = load.result()

    assert receipt.effects == Effects(inserted=1)
    assert orders.sql("SELECT * FROM orders") == [(1, "a", "1")]
    assert longest < 3
    waited, *_ = [record.message for record in caplog.records if "in the way" in record.message]
    assert "a long report" in waited
    assert "table=public.orders partition=2025-05-01" in waited


def test_in_a_pause_nothing_is_locked(orders: Warehouse) -> None:
    with reading(orders) as reader, loading(orders, GROWING, "id,v,n\n1,a,1\n") as load:
        seen = set()
        until = time.monotonic() + 3.0
        while time.monotonic() < until:
            seen.add(
                orders.sql(
                    "SELECT count(*) FROM pg_locks JOIN pg_stat_activity a USING (pid) "
                    "WHERE a.application_name LIKE 'airflow_idempotent%' AND a.datname = current_database()"
                )[0][0]
            )
            time.sleep(0.02)
        reader.execute("ROLLBACK")
        load.result()

    assert 0 in seen  # in a pause
    assert max(seen) > 0  # at work


def test_a_reader_that_stays_is_named_when_the_time_is_used_up(orders: Warehouse) -> None:
    spec = GROWING.model_copy(update={"lock_timeout": 2.5})
    begun = time.monotonic()

    with reading(orders) as reader:
        reader.execute("SELECT pg_backend_pid()")
        [(pid,)] = reader.fetchall()
        with pytest.raises(LockTimeoutError) as caught:
            orders.load(spec, "id,v,n\n1,a,1\n")

    assert 2.5 < time.monotonic() - begun < 12
    assert caught.value.retryable
    assert [line for line in caught.value.holders if line.startswith(f"pid {pid} (a long report)")]
    assert "nothing was changed" in str(caught.value)
    assert orders.sql("SELECT count(*) FROM information_schema.columns WHERE table_name = 'orders'") == [(2,)]


def test_a_wait_is_no_longer_than_lock_timeout_even_where_that_is_short(orders: Warehouse) -> None:
    spec = GROWING.model_copy(update={"lock_timeout": 0.2})
    begun = time.monotonic()

    with reading(orders), pytest.raises(LockTimeoutError):
        orders.load(spec, "id,v,n\n1,a,1\n")

    assert time.monotonic() - begun < 2


def test_a_dry_run_waits_in_the_same_way_and_then_as_long_as_ever(orders: Warehouse) -> None:
    with reading(orders) as reader, loading(orders, GROWING, "id,v,n\n1,a,1\n", dry_run=True) as load:
        time.sleep(2.3)
        assert not load.done()
        reader.execute("ROLLBACK")
        assert load.result().effects == Effects(inserted=1)

    assert orders.sql("SELECT count(*) FROM information_schema.columns WHERE table_name = 'orders'") == [(2,)]


def test_a_reader_of_the_default_child_does_not_fail_a_new_partition(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    warehouse.sql("CREATE TABLE rest PARTITION OF orders DEFAULT")

    with reading(warehouse) as reader, loading(warehouse, BY_DAY, "id,d\n1,2025-05-01\n") as load:
        time.sleep(2.3)
        assert not load.done()
        reader.execute("ROLLBACK")
        assert load.result().effects == Effects(inserted=1)

    assert warehouse.sql("SELECT tableoid::regclass::text FROM orders") == [("orders_p20250501",)]


def test_readers_of_other_partitions_are_in_nobodys_way(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    warehouse.load(BY_DAY, "id,d\n1,2025-05-01\n")

    with reading(warehouse):
        begun = time.monotonic()
        warehouse.load(BY_DAY, "id,d\n1,2025-05-02\n", partition="2025-05-02")

    assert time.monotonic() - begun < 1.5


def test_a_reader_does_not_throw_away_a_load_that_exchanges_a_child(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    exchanging = BY_DAY.model_copy(update={"strategy": InsertOverwrite(method="attach")})
    warehouse.sql("CREATE TABLE orders (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    warehouse.load(exchanging, "id,d\n1,2025-05-01\n")

    with (
        caplog.at_level(logging.INFO),
        reading(warehouse) as reader,
        loading(warehouse, exchanging, "id,d\n2,2025-05-01\n", revision=2) as load,
    ):
        time.sleep(2.5)
        assert not load.done()
        begun = time.monotonic()
        warehouse.sql("SELECT * FROM orders")
        assert time.monotonic() - begun < 2.5
        reader.execute("ROLLBACK")
        assert load.result().effects == Effects(inserted=1, deleted=1)

    messages = [record.message for record in caplog.records]
    assert sum("staged table=" in message for message in messages) == 1
    assert any("in the way: pid" in message and "a long report" in message for message in messages)
    assert warehouse.sql("SELECT id FROM orders") == [(2,)]


# --- statement_timeout -----------------------------------------------------------------------------------------------


def test_a_short_statement_timeout_of_the_role_does_not_cut_the_wait_for_another_run(
    orders: Warehouse, database: str
) -> None:
    orders.sql("CREATE TABLE gate (open bool)")
    orders.sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM count(*) FROM gate; RETURN NULL; END $$; "
        "CREATE TRIGGER slow AFTER INSERT ON orders FOR EACH STATEMENT EXECUTE FUNCTION slow()"
    )

    def hurried() -> Any:
        connection = orders.connect()
        connection.cursor().execute("SET statement_timeout = '400ms'")
        connection.commit()
        return connection

    with orders.session() as gate, loading(orders, PLAIN, "id,v\n1,a\n") as first:
        gate.execute("LOCK TABLE gate")
        while not orders.sql(WAITS)[0][0] and not first.done():
            time.sleep(0.01)
        with loading(orders, PLAIN, "id,v\n1,a\n", connect=hurried) as second:
            time.sleep(1)
            assert not second.done()
            gate.execute("ROLLBACK")
            assert second.result().effects == Effects(unchanged=1)

    assert first.result().effects == Effects(inserted=1)


def test_a_statement_that_runs_too_long_is_still_cut(orders: Warehouse) -> None:
    orders.sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $$; "
        "CREATE TRIGGER slow AFTER INSERT ON orders FOR EACH STATEMENT EXECUTE FUNCTION slow()"
    )

    with pytest.raises(StatementTimeoutError) as caught:
        orders.load(PLAIN.model_copy(update={"statement_timeout": 0.3}), "id,v\n1,a\n")

    assert caught.value.retryable
    assert orders.sql("SELECT * FROM orders") == []

"""Several writers at once: loads of ours beside each other, and beside people with a psql."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from threading import Barrier
from typing import Any

import pytest

from airflow_idempotent.core.step import Attempt, Effects, Receipt
from airflow_idempotent.engine.attempts import TargetChanged
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.runner import run_step
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.stage_merge import current_step
from airflow_idempotent.errors import ConstraintError, LockTimeoutError
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.ledger_schema import SCHEMA_VERSION
from tests.faults import Watched
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

ORDERS = LoadSpec(table="orders", unique_key=["id"], version=["ver"], lock_timeout=30)
DAYS = [f"2025-05-{day:02d}" for day in range(1, 31)]


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    return Warehouse(connect_once)


@pytest.fixture
def orders(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, ver int)")
    return warehouse


@contextmanager
def background(work: Callable[[], Receipt]) -> Iterator[Future[Receipt]]:
    """Something that goes on while the block does."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """All of them, begun in the same moment."""
    barrier = Barrier(len(works))

    def begin(work: Callable[[], Any]) -> Any:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [done.result() for done in [pool.submit(begin, work) for work in works]]


def wait_until(warehouse: Warehouse, question: str) -> None:
    """Until the database says yes."""
    deadline = time.monotonic() + 20
    while not warehouse.sql(f"SELECT {question}")[0][0]:
        assert time.monotonic() < deadline, question
        time.sleep(0.02)


SOMEBODY_WAITS = (
    "EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database())"
)


# --- beside somebody's open transaction -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("elsewhere", "commits", "effects", "end"),
    [
        ("INSERT INTO orders VALUES (2, 'theirs', 5)", True, Effects(stale=1), (2, "theirs", 5)),
        ("INSERT INTO orders VALUES (2, 'ours', 3)", True, Effects(unchanged=1), (2, "ours", 3)),
        ("INSERT INTO orders VALUES (2, 'theirs', 1)", True, Effects(updated=1), (2, "ours", 3)),
        ("INSERT INTO orders VALUES (2, 'theirs', 5)", False, Effects(inserted=1), (2, "ours", 3)),
        ("UPDATE orders SET v = 'theirs', ver = 5 WHERE id = 1", True, Effects(stale=1), (1, "theirs", 5)),
        ("UPDATE orders SET v = 'ours', ver = 3 WHERE id = 1", True, Effects(unchanged=1), (1, "ours", 3)),
        ("UPDATE orders SET v = 'theirs', ver = 2 WHERE id = 1", True, Effects(updated=1), (1, "ours", 3)),
        ("UPDATE orders SET v = 'theirs', ver = 5 WHERE id = 1", False, Effects(updated=1), (1, "ours", 3)),
        ("DELETE FROM orders WHERE id = 1", True, Effects(inserted=1), (1, "ours", 3)),
        ("DELETE FROM orders WHERE id = 1", False, Effects(updated=1), (1, "ours", 3)),
    ],
)
def test_what_another_transaction_does_to_a_row_is_waited_for_and_counted(
    orders: Warehouse, elsewhere: str, commits: bool, effects: Effects, end: tuple[Any, ...]
) -> None:
    orders.sql("INSERT INTO orders VALUES (1, 'first', 1)")
    other = orders.connect()
    other.cursor().execute(elsewhere)

    with background(lambda: orders.load(ORDERS, f"id,v,ver\n{end[0]},ours,3\n")) as load:
        wait_until(orders, SOMEBODY_WAITS)
        other.commit() if commits else other.rollback()
        receipt = load.result()

    assert receipt.effects == effects
    assert orders.sql("SELECT * FROM orders WHERE id = %s", [end[0]]) == [end]


def test_many_writers_of_the_same_new_keys_all_succeed(orders: Warehouse) -> None:
    random, keys = Random(1), list(range(60))
    texts = []
    for writer in range(6):
        random.shuffle(keys)
        texts.append("id,v,ver\n" + "".join(f"{key},w{writer},{(key + writer) % 6}\n" for key in keys))

    receipts = at_once(
        *(
            lambda text=text, day=day: orders.load(ORDERS, text, partition=day)
            for text, day in zip(texts, DAYS, strict=False)
        )
    )

    assert orders.sql("SELECT count(*), min(ver), max(ver) FROM orders") == [(60, 5, 5)]
    assert sum(receipt.effects.inserted for receipt in receipts) == 60
    assert all(sum(receipt.effects.as_dict().values()) == 60 for receipt in receipts)


def test_writers_that_want_the_same_rows_in_opposite_order_do_not_deadlock(orders: Warehouse) -> None:
    orders.sql("INSERT INTO orders SELECT g, 'x', 0 FROM generate_series(1, 400) g")
    [(before,)] = orders.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    random = Random(2)

    def writer(number: int) -> None:
        for turn in range(5):
            keys = random.sample(range(1, 401), 100)
            text = "id,v,ver\n" + "".join(f"{key},{number}/{turn},{turn * 6 + number}\n" for key in keys)
            orders.load(ORDERS, text, partition=DAYS[number * 5 + turn])

    at_once(*(lambda number=number: writer(number) for number in range(6)))

    assert orders.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [(before,)]


def test_a_collision_with_another_unique_column_is_refused_and_not_tried_forever(orders: Warehouse) -> None:
    orders.sql("CREATE UNIQUE INDEX ON orders (v)")
    other = orders.connect()
    other.cursor().execute("INSERT INTO orders VALUES (1, 'taken', 1)")

    with background(lambda: orders.load(ORDERS, "id,v,ver\n2,taken,1\n")) as load:
        wait_until(orders, SOMEBODY_WAITS)
        other.commit()
        with pytest.raises(ConstraintError):
            load.result()


# --- beside each other ------------------------------------------------------------------------------------------------


@contextmanager
def slow_load(warehouse: Warehouse, spec: LoadSpec, text: str, **options: Any) -> Iterator[Future[Receipt]]:
    """A load that stands still inside its transaction, after staging, until the block ends."""
    warehouse.sql("CREATE TABLE IF NOT EXISTS gate (open bool)")
    gate = warehouse.connect()
    gate.cursor().execute("LOCK TABLE gate")

    def connect() -> Any:
        connection = warehouse.connect()

        def wait(event: str) -> None:
            if event == "before SAVEPOINT idem_write":
                connection.cursor().execute("SELECT count(*) FROM gate")

        return Watched(connection, wait)

    with background(lambda: warehouse.load(spec, text, connect=connect, **options)) as load:
        wait_until(warehouse, SOMEBODY_WAITS)
        try:
            yield load
        finally:
            gate.rollback()


def test_a_load_of_another_partition_does_not_wait(orders: Warehouse) -> None:
    with slow_load(orders, ORDERS, "id,v,ver\n1,a,1\n") as slow:
        assert orders.load(ORDERS, "id,v,ver\n2,b,1\n", partition="2025-05-02").effects == Effects(inserted=1)
        assert not slow.done()

    assert slow.result().effects == Effects(inserted=1)


def test_a_second_attempt_waits_for_the_first_and_writes_nothing(orders: Warehouse) -> None:
    with ThreadPoolExecutor(1) as pool, slow_load(orders, ORDERS, "id,v,ver\n1,a,1\n") as slow:
        retry = pool.submit(lambda: orders.load(ORDERS, "id,v,ver\n1,a,1\n"))
        time.sleep(0.3)
        assert not retry.done()

    assert (slow.result().effects, retry.result().effects) == (Effects(inserted=1), Effects(unchanged=1))


def test_who_waits_too_long_is_told_who_holds_it(orders: Warehouse) -> None:
    impatient = ORDERS.model_copy(update={"lock_timeout": 0.2})
    attempt = Attempt("dag", "run", "stage_merge", 3, 2)

    with slow_load(orders, ORDERS, "id,v,ver\n1,a,1\n", attempt=attempt), pytest.raises(LockTimeoutError) as caught:
        orders.load(impatient, "id,v,ver\n1,a,1\n")

    assert caught.value.retryable
    assert "stage_merge#2 2025-05-01 public.orders" in "".join(caught.value.holders)
    assert "nothing was changed" in str(caught.value)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_where_no_index_keeps_keys_unique_one_writer_waits_for_the_other(warehouse: Warehouse, isolation: str) -> None:
    warehouse.sql("CREATE TABLE orders (id int, v text, ver int)")
    level = f"ALTER DATABASE %I SET default_transaction_isolation TO ''{isolation}''"
    warehouse.sql(f"DO $$ BEGIN EXECUTE format('{level}', current_database()); END $$")

    with ThreadPoolExecutor(1) as pool, slow_load(warehouse, ORDERS, "id,v,ver\n1,a,1\n2,a,1\n") as slow:
        other = pool.submit(lambda: warehouse.load(ORDERS, "id,v,ver\n1,b,2\n3,b,1\n", partition="2025-05-02"))
        time.sleep(0.3)
        assert not other.done()

    assert slow.result().effects == Effects(inserted=2)
    assert other.result().effects == Effects(inserted=1, updated=1)
    assert warehouse.sql("SELECT * FROM orders ORDER BY id") == [(1, "b", 2), (2, "a", 1), (3, "b", 1)]


@pytest.mark.parametrize("known", [False, True])
def test_a_look_during_a_load_tells_of_what_that_load_wrote(warehouse: Warehouse, known: bool) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, d date, ver int)")
    spec = LoadSpec(
        table="orders", unique_key=["id"], version=["ver"], event_time="d", on_empty="skip", lock_timeout=30
    )
    if known:
        warehouse.load(spec, f"id,d,ver\n1,{DAYS[0]},1\n")
    manifest = warehouse.batches.land(spec, f"id,d,ver\n1,{DAYS[0]},2\n2,{DAYS[0]},2\n", revision=2)

    with (
        ThreadPoolExecutor(1) as pool,
        slow_load(warehouse, spec, f"id,d,ver\n1,{DAYS[0]},2\n2,{DAYS[0]},2\n", revision=2),
    ):
        look = pool.submit(lambda: warehouse.validate(spec, manifest))
        time.sleep(0.3)
        assert not look.done()

    assert look.result().measure.row_count == 2
    assert [str(result.verdict) for result in look.result().checks] == ["passed"]


# --- making things at the same time -----------------------------------------------------------------------------------

COLUMNS = [{"name": "id", "data_type": "int"}, {"name": "d", "data_type": "date"}]


def test_two_loads_create_one_table(warehouse: Warehouse) -> None:
    spec = LoadSpec(table="fresh.orders", unique_key="id", columns=COLUMNS)

    receipts = at_once(
        *(lambda n=n: warehouse.load(spec, f"id,d\n{n},2025-05-01\n", partition=DAYS[n]) for n in range(4))
    )

    assert [receipt.effects for receipt in receipts] == [Effects(inserted=1)] * 4


def test_loads_of_four_tables_create_one_schema_and_one_ledger(warehouse: Warehouse) -> None:
    specs = [LoadSpec(table=f"fresh.orders_{n}", unique_key="id", columns=COLUMNS) for n in range(4)]

    at_once(*(lambda spec=spec: warehouse.load(spec, "id,d\n1,2025-05-01\n") for spec in specs))

    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.events WHERE state = 'published'") == [(4,)]


def test_four_partitions_are_created_at_once(warehouse: Warehouse) -> None:
    spec = LoadSpec(
        table="fresh.orders", unique_key=["id", "d"], columns=COLUMNS, partition_by={"column": "d", "declarative": True}
    )

    at_once(*(lambda day=day: warehouse.load(spec, f"id,d\n1,{day}\n", partition=day) for day in [*DAYS[:3], DAYS[0]]))

    assert warehouse.sql("SELECT count(*), count(DISTINCT tableoid) FROM fresh.orders") == [(3, 3)]


def test_a_new_partition_does_not_wait_for_a_load_of_another(warehouse: Warehouse) -> None:
    spec = LoadSpec(
        table="orders", unique_key=["id", "d"], columns=COLUMNS, partition_by={"column": "d", "declarative": True}
    )
    warehouse.load(spec, f"id,d\n1,{DAYS[0]}\n", partition=DAYS[0])

    with slow_load(warehouse, spec, f"id,d\n2,{DAYS[1]}\n", partition=DAYS[1]) as slow:
        assert warehouse.load(spec, f"id,d\n3,{DAYS[2]}\n", partition=DAYS[2]).effects == Effects(inserted=1)
        assert not slow.done()


def test_eight_install_the_ledger_at_once(warehouse: Warehouse) -> None:
    at_once(*(lambda: Ledger(Session(warehouse.connect())).install() for _ in range(8)))

    installed = warehouse.sql("SELECT version FROM airflow_idempotent.ledger_version ORDER BY 1")
    assert installed == [(version,) for version in range(1, SCHEMA_VERSION + 1)]


# --- a table altered in between ---------------------------------------------------------------------------------------


def test_a_step_built_for_another_table_is_not_run(orders: Warehouse) -> None:
    manifest = orders.batches.land(ORDERS, "id,v,ver\n1,a,1\n")
    load = Load(ORDERS, ORDERS.partition(manifest.partition), manifest)
    session = Session(orders.connect())
    ledger = Ledger(session)
    ledger.install()
    step = current_step(load, session)
    orders.sql("ALTER TABLE orders DROP CONSTRAINT orders_pkey")

    with pytest.raises(TargetChanged):
        run_step(step, session=session, ledger=ledger, batches=orders.batches)

    assert orders.load_again(ORDERS, manifest).effects == Effects(inserted=1)


def test_a_table_altered_while_a_load_begins_is_looked_at_again(orders: Warehouse) -> None:
    done = []

    def connect() -> Any:
        def alter(event: str) -> None:
            if event.startswith("before SELECT pg_advisory_xact_lock_shared") and not done:
                done.append(orders.sql("ALTER TABLE orders ADD twice int GENERATED ALWAYS AS (ver * 2) STORED"))

        return Watched(orders.connect(), alter)

    assert orders.load(ORDERS, "id,v,ver\n1,a,1\n", connect=connect).effects == Effects(inserted=1)
    assert done
    assert orders.sql("SELECT twice FROM orders") == [(2,)]

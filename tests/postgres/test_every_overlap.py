"""Several writers at once, poolers and failures, for every strategy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, timedelta
from random import Random
from threading import Barrier
from typing import Any

import pytest

from airflow_idempotent.core.duplicates import Deduplication
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.engine.deduplicate import deduplicate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import ConstraintError, GateClosedError, IdempotentError, LockTimeoutError
from tests.loading import Warehouse
from tests.pooling import PGBOUNCER, Pool, pgbouncer
from tests.postgres_fixtures import DRIVERS, Connect, opening
from tests.tried import TRIED, Tried, every_strategy

DAYS = [str(date(2025, 5, 1) + timedelta(days=number)) for number in range(200)]
ROUNDS = int(os.environ.get("AIRFLOW_IDEMPOTENT_OVERLAP_ROUNDS", "5"))
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    return Warehouse(connect_once)


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """All of them, begun in the same moment."""
    barrier = Barrier(len(works))

    def begin(work: Callable[[], Any]) -> Any:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [done.result() for done in [pool.submit(begin, work) for work in works]]


def deadlocks(warehouse: Warehouse) -> int:
    warehouse.sql("SELECT pg_stat_clear_snapshot()")
    return int(warehouse.sql(DEADLOCKS)[0][0])


def content(warehouse: Warehouse, tried: Tried, table: str = "t") -> list[tuple[Any, ...]]:
    own = ", valid_from, valid_to" if "valid_from" in tried.own else ""
    return warehouse.sql(f"SELECT id, ver, d, v{own} FROM {table} ORDER BY 1, 2, 3, 4")


@contextmanager
def no_deadlock(warehouse: Warehouse) -> Iterator[None]:
    before = deadlocks(warehouse)
    yield
    assert deadlocks(warehouse) == before


# --- writers at the same time ----------------------------------------------------------------------------------------


@every_strategy
def test_two_batches_of_one_partition_at_once_end_as_one_after_the_other(warehouse: Warehouse, name: str) -> None:
    tried, random = TRIED[name], Random(1)
    spec = tried.spec()
    warehouse.sql(tried.ddl())
    warehouse.sql(tried.ddl(table="in_turn"))
    keys = list(range(60))
    for turn in range(ROUNDS):
        batches = []
        for writer in (0, 1):
            random.shuffle(keys)
            version = 2 * turn + writer
            batches.append(tried.batch(*((key, version, f"w{version}") for key in keys[: 40 + writer])))
        numbers = [(2 * turn + writer + 1, text) for writer, text in enumerate(batches)]
        with no_deadlock(warehouse):
            at_once(*(lambda n=n, text=text: warehouse.load(spec, text, revision=n) for n, text in numbers))
        for number, text in numbers:
            warehouse.load(tried.spec("in_turn"), text, revision=number)

        assert content(warehouse, tried) == content(warehouse, tried, "in_turn"), turn


@every_strategy
def test_the_same_batch_at_once_is_written_once(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    warehouse.sql(tried.ddl())
    batch = tried.batch(*((key, 1, "x") for key in range(50)))
    receipts: list[Receipt] = at_once(*(lambda: warehouse.load(tried.spec(), batch) for _ in range(3)))

    assert sorted(receipt.effects.inserted for receipt in receipts) == [0, 0, 50]
    assert sum(receipt.effects.touched for receipt in receipts) == 50


LAYOUTS = {
    "unique index": "",
    "no index": "no",
    "partitioned": " PARTITION BY RANGE (id)",
}


def made(warehouse: Warehouse, tried: Tried, table: str, layout: str) -> None:
    """The table; a partitioned one is cut by its key, so that an index can keep it unique."""
    warehouse.sql(
        tried.ddl(table=table, key="" if layout == "no index" else "PRIMARY KEY") + LAYOUTS[layout].strip("no")
    )
    if layout == "partitioned":
        warehouse.sql(f"CREATE TABLE {table}_1 PARTITION OF {table} FOR VALUES FROM (0) TO (100)")
        warehouse.sql(f"CREATE TABLE {table}_2 PARTITION OF {table} DEFAULT")


@every_strategy
@pytest.mark.parametrize("layout", LAYOUTS)
def test_writers_of_other_partitions_that_want_the_same_keys_do_not_deadlock(
    warehouse: Warehouse, name: str, layout: str
) -> None:
    """Half of the keys are new to the table, so that writers meet at inserts and at updates; orders are opposite."""
    tried, random = TRIED[name], Random(2)
    spec = tried.spec()
    for table in ("t", "in_turn"):
        made(warehouse, tried, table, layout)
    batches: list[tuple[str, str]] = []

    def batch(writer: int, turn: int) -> None:
        day = DAYS[(4 * turn + writer) % len(DAYS)]
        first = 10_000 * (4 * turn + writer) if not tried.shares_keys else 0
        keys = [first + key for key in random.sample(range(150 + 40 * turn), 100)]
        keys.sort(reverse=writer % 2 == 0)
        batches.append((day, tried.batch(*((key, 4 * turn + writer, f"{writer}/{turn}") for key in keys), day=day)))

    for turn in range(ROUNDS):
        for writer in range(4):
            batch(writer, turn)
    with no_deadlock(warehouse):
        for turn in range(ROUNDS):
            round_ = batches[4 * turn : 4 * turn + 4]
            revision = 4 * turn // len(DAYS) + 1
            at_once(
                *(
                    lambda day=day, text=text: warehouse.load(spec, text, partition=day, revision=revision)  # noqa: B023
                    for day, text in round_
                )
            )
    for number, (day, text) in enumerate(batches):
        warehouse.load(tried.spec("in_turn"), text, partition=day, revision=number // len(DAYS) + 1)

    assert content(warehouse, tried) == content(warehouse, tried, "in_turn")


NOTE = """CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %I (id) VALUES ($1)', TG_ARGV[0]) USING coalesce(NEW.id, OLD.id);
    RETURN NULL;
END $$"""


@every_strategy
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_written_in_one_order_whatever_the_planner_knows(warehouse: Warehouse, name: str, layout: str) -> None:
    """Two writers that meet the same rows in two orders would wait for each other: a matter of the plan, which changes.

    Two tables of the same rows at the same places; the planner knows of one only what it holds.
    """
    tried = TRIED[name]
    if not tried.shares_keys:
        pytest.skip("a partition is what its own batches say")
    warehouse.sql(NOTE)
    keys, written = Random(3).sample(range(200), 200), {}
    for table in ("t", "known"):
        made(warehouse, tried, table, layout)
        warehouse.sql(f"CREATE TABLE {table}_order (number serial, id int)")
        spec = tried.spec(table)
        shape = Session(warehouse.connect()).shape(spec.relation)
        if spec.strategy.is_exclusive(shape, spec.unique_key):
            pytest.skip("keeps other writers of the table out")
        warehouse.load(spec, tried.batch(*((key, 1, "a") for key in keys)))
        if table == "known":
            warehouse.sql("ANALYZE known")
            keys.reverse()
        warehouse.sql(
            f"CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW "
            f"EXECUTE FUNCTION note('{table}_order')"
        )
        batch = tried.batch(*((key, 2, "b") for key in keys if key < 190), *((key, 2, "b") for key in range(200, 210)))
        warehouse.load(spec, batch, revision=2)
        written[table] = warehouse.sql(f"SELECT id FROM {table}_order ORDER BY number")

    assert written["t"] == written["known"] != []


@every_strategy
def test_one_new_key_wanted_by_four_partitions_at_once_is_there_once(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    if not tried.shares_keys:
        pytest.skip("a partition is what its own batches say")
    warehouse.sql(tried.ddl())
    for key in range(ROUNDS):
        at_once(
            *(
                lambda n=n, key=key: warehouse.load(
                    tried.spec(), tried.batch((key, 3, f"w{n}"), day=DAYS[4 * key + n]), partition=DAYS[4 * key + n]
                )
                for n in range(4)
            )
        )
        if name == "snapshot":
            assert warehouse.sql("SELECT id, v FROM t") == [(key, "w3")]
        else:
            assert warehouse.sql(f"SELECT count(*) FROM t WHERE id = {key}") == [(1,)]


# --- poolers ---------------------------------------------------------------------------------------------------------


def story(warehouse: Warehouse, tried: Tried) -> list[tuple[Any, ...]]:
    """A table made, loaded, loaded again, corrected and replayed."""
    columns = [{"name": n, "data_type": k} for n, k in (("id", "int"), ("ver", "int"), ("d", "date"), ("v", "text"))]
    spec = tried.spec("made.t", columns=columns, checks=[{"row_count": {"min": 1}}])
    first, second = tried.batch((1, 1, "a"), (2, 1, "b")), tried.batch((1, 2, "A"), (2, 1, "b"), (3, 1, "c"))
    warehouse.load(spec, first)
    warehouse.load(spec, second, revision=2)
    warehouse.load(spec, first)
    assert warehouse.load(spec, second, revision=2).effects.touched == 0
    warehouse.load(spec, tried.batch((9, 1, "z"), day=DAYS[1]), partition=DAYS[1], dry_run=True)
    warehouse.validate(spec, warehouse.batches.land(spec, second, revision=2))
    warehouse.sql("CREATE TABLE made.repeated AS SELECT 1 AS id FROM generate_series(1, 30)")
    order = Deduplication(Relation("made", "repeated"), ("id",), chunk_rows=10)
    assert deduplicate(order, connect=warehouse.connect).removed == 29
    return content(warehouse, tried, "made.t")


@every_strategy
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_transaction_pooler_finds_nothing_left_behind(database: str, name: str, driver: str) -> None:
    with opening(driver, database) as connect:
        pool, direct = Pool(connect), Warehouse(connect)
        pooled = Warehouse(pool.connect)

        found = story(pooled, TRIED[name])

        assert pool.leftovers() == []
        direct.sql("DROP SCHEMA made CASCADE; DROP SCHEMA airflow_idempotent CASCADE")
        assert story(direct, TRIED[name]) == found


@every_strategy
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")
def test_pgbouncer_in_transaction_mode_serves_four_writers_by_two_connections(
    database: str, name: str, driver: str
) -> None:
    tried = TRIED[name]
    with pgbouncer(database, 2) as address, opening(driver, address) as connect, opening(driver, database) as directly:
        pooled, direct = Warehouse(connect), Warehouse(directly)
        found = story(pooled, tried)
        at_once(
            *(
                lambda day=day: pooled.load(
                    tried.spec("made.t"),
                    tried.batch((7 if tried.shares_keys else int(day[-2:]), 7, "x"), day=day),
                    partition=day,
                )
                for day in DAYS[2:6]
            )
        )
        direct.sql("DROP SCHEMA made CASCADE; DROP SCHEMA airflow_idempotent CASCADE")
        assert story(direct, tried) == found


# --- failures --------------------------------------------------------------------------------------------------------


def closed_gate(warehouse: Warehouse, tried: Tried) -> None:
    warehouse.load(tried.spec(checks=[{"row_count": {"min": 99}}]), tried.batch((1, 2, "A")), revision=2)


def refused_row(warehouse: Warehouse, tried: Tried) -> None:
    warehouse.load(tried.spec(), tried.batch((5, 2, "bad"), (6, 2, "A")), revision=2)


def failing_at_commit(warehouse: Warehouse, tried: Tried) -> None:
    warehouse.load(tried.spec(), tried.batch((5, 2, "late"), (6, 2, "A")), revision=2)


def a_partition_that_is_held(warehouse: Warehouse, tried: Tried) -> None:
    warehouse.load(tried.spec(lock_timeout=0.1), tried.batch((1, 2, "A")), revision=2)


FAILURES: dict[Callable[[Warehouse, Tried], None], type[IdempotentError]] = {
    closed_gate: GateClosedError,
    refused_row: ConstraintError,
    failing_at_commit: ConstraintError,
    a_partition_that_is_held: LockTimeoutError,
}
LATE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NEW.v = 'late' THEN RAISE EXCEPTION 'too late'; END IF; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON t DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@every_strategy
@pytest.mark.parametrize("fail", FAILURES, ids=lambda fail: fail.__name__)
def test_a_failure_leaves_nothing_open_and_the_next_load_goes_on(
    connect_once: Connect, name: str, fail: Callable[[Warehouse, Tried], None]
) -> None:
    tried, pool = TRIED[name], Pool(connect_once)
    pooled, direct = Warehouse(pool.connect), Warehouse(connect_once)
    direct.sql(tried.ddl("v text CHECK (v <> 'bad')"))
    direct.sql(LATE)
    pooled.load(tried.spec(), tried.batch((1, 1, "a"), (2, 1, "b")))
    before = direct.physical("t")
    holder = connect_once()
    if fail is a_partition_that_is_held:
        holder.cursor().execute("LOCK TABLE t")

    with pytest.raises(FAILURES[fail]):
        fail(pooled, tried)

    assert pool.leftovers() == []
    holder.rollback()
    assert direct.physical("t") == before
    assert pooled.load(tried.spec(), tried.batch((1, 1, "a"), (2, 3, "B")), revision=3).batch_id == "20250501_03"
    assert pool.leftovers() == []

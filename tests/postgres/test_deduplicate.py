"""Duplicates that are in a table already: which rows stay, in any chunks, after any crash, beside any load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.duplicates import Deduplicated, Deduplication
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.engine.deduplicate import deduplicate
from airflow_idempotent.errors import (
    ConstraintError,
    DatabaseError,
    LockTimeoutError,
    StillReferencedError,
    UsageError,
)
from airflow_idempotent.spec.load import LoadSpec
from tests.faults import Watched
from tests.loading import Warehouse
from tests.model.deduplicate import deduplicated
from tests.model.merge import Row, Table
from tests.postgres_fixtures import Connect

COLUMNS = ("shop", "sku", "ver", "v", "n")
LAYOUTS = ("no index", "an index", "partitions")
TEXTS = ("", "a", "B", "é", "\U0001f600", "'", "\\", '"')


class Crash(BaseException):
    """The end of a process."""


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    return Warehouse(connect_once)


def dedupe(
    warehouse: Warehouse,
    table: str = "orders",
    key: Sequence[str] = ("id",),
    version: Sequence[str] = ("ver",),
    *,
    chunk_rows: int | None = None,
    dry_run: bool = False,
    connect: Callable[[], Any] | None = None,
    lock_timeout: float = 30,
    progress: Callable[[int, int], None] | None = None,
) -> Deduplicated:
    order = Deduplication(Relation.parse(table), tuple(key), tuple(version), chunk_rows, Timeouts(lock=lock_timeout))
    return deduplicate(order, connect=connect or warehouse.connect, dry_run=dry_run, progress=progress)


def crashing(warehouse: Warehouse, moment: str, after: int = 0) -> Callable[[], Any]:
    """Connections on which the process ends when that statement has come so many times."""
    seen = count()

    def watch(what: str) -> None:
        if what.startswith(moment) and next(seen) == after:
            raise Crash

    return lambda: Watched(warehouse.connect(), watch)


def orders(warehouse: Warehouse, rows: str, columns: str = "id int, v text, ver int") -> None:
    warehouse.sql(f"CREATE TABLE orders ({columns})")
    warehouse.sql(f"INSERT INTO orders VALUES {rows}")


# --- the law ----------------------------------------------------------------------------------------------------------


def rows() -> st.SearchStrategy[Row]:
    """Few keys, few versions: duplicates, ties and NULLs are the rule."""
    keys = [st.none() | st.integers(0, 3), st.none() | st.sampled_from(("x", "X", "é", "a,b"))]
    values = [st.none() | st.integers(0, 2), st.none() | st.sampled_from(TEXTS), st.none() | st.integers(-1, 1)]
    return st.builds(lambda *row: dict(zip(COLUMNS, row, strict=True)), *keys, *values)


def filled(warehouse: Warehouse, table: str, layout: str, content: Sequence[Row]) -> None:
    cut = " PARTITION BY LIST (n)" if layout == "partitions" else ""
    warehouse.sql(f"CREATE TABLE {table} (shop int, sku text, ver int, v text, n int){cut}")
    if layout == "an index":
        warehouse.sql(f"CREATE INDEX ON {table} (shop, sku)")
    if layout == "partitions":
        warehouse.sql(f"CREATE TABLE {table}_1 PARTITION OF {table} FOR VALUES IN (1, NULL)")
        warehouse.sql(f"CREATE TABLE {table}_2 PARTITION OF {table} DEFAULT")
    for row in content:
        warehouse.sql(f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)", [row[name] for name in COLUMNS])


_numbers = count(1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("version", [("ver",), ()], ids=["by version", "by content"])
@settings(max_examples=settings.default.max_examples // 4)
@given(content=st.lists(rows(), max_size=14), chunk_rows=st.integers(1, 8), crashes=st.integers(0, 4))
def test_any_chunks_and_any_crash_end_in_what_the_model_says_and_a_second_run_writes_nothing(
    warehouse: Warehouse, layout: str, version: tuple[str, ...], content: list[Row], chunk_rows: int, crashes: int
) -> None:
    table, model = f"t{next(_numbers)}", Table(COLUMNS, ("shop", "sku"), version)
    filled(warehouse, table, layout, content)
    words = {"table": table, "key": model.unique_key, "version": version, "chunk_rows": chunk_rows}
    counted = dedupe(warehouse, **words, dry_run=True)
    for moment in ("after DELETE", "before COMMIT", "after COMMIT"):
        with suppress(Crash):
            dedupe(warehouse, **words, connect=crashing(warehouse, moment, crashes))
    dedupe(warehouse, **words)
    found, physical = warehouse.sql(f"SELECT {', '.join(COLUMNS)} FROM {table}"), warehouse.physical(table)
    again = dedupe(warehouse, **words)

    expected = deduplicated(content, model)
    assert sorted(found, key=repr) == sorted((tuple(row.values()) for row in expected), key=repr)
    assert counted.duplicates == len(content) - len(expected)
    assert (counted.rows, counted.removed, counted.chunks) == (len(content), 0, 0)
    assert counted.null_keys == sum(None in model.key(row) for row in content)
    assert (again.duplicates, again.removed, again.chunks, again.repeated_keys) == (0, 0, 0, 0)
    assert warehouse.physical(table) == physical


def test_rows_that_stay_are_not_written_and_the_counts_add_up(connect: Connect) -> None:
    warehouse = Warehouse(connect)
    orders(warehouse, "(1, 'a', 1), (1, 'b', 2), (2, 'c', 1), (1, 'b', 2), (NULL, 'd', 1), (NULL, 'd', 1)")
    before = warehouse.physical("orders")
    told: list[tuple[int, int]] = []

    done = dedupe(warehouse, chunk_rows=1, progress=lambda *now: told.append(now))

    after = warehouse.physical("orders")
    assert set(after) < set(before)
    assert [row[3:] for row in after] == [(1, "b", 2), (2, "c", 1), (None, "d", 1), (None, "d", 1)]
    assert (done.rows, done.repeated_keys, done.duplicates, done.removed, done.null_keys) == (6, 1, 2, 2, 2)
    assert told == [(1, 2), (2, 2)]


def test_a_dry_run_writes_nothing_at_all_not_even_a_ledger(warehouse: Warehouse) -> None:
    orders(warehouse, "(1, 'a', 1), (1, 'b', 2)")
    before = warehouse.physical("orders")
    said: list[str] = []

    done = dedupe(warehouse, dry_run=True, connect=lambda: Watched(warehouse.connect(), said.append))

    assert (done.duplicates, done.removed, done.dry_run) == (1, 0, True)
    assert warehouse.physical("orders") == before
    assert warehouse.sql("SELECT to_regnamespace('airflow_idempotent')") == [(None,)]
    assert "after SET TRANSACTION READ ONLY" in said


def test_what_went_is_an_event_of_the_ledger_and_explains_a_partition_that_lost_rows(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, v text, ver int, d date)")
    spec = LoadSpec(table="orders", unique_key="id", version="ver", partition_by={"column": "d"})
    manifest = warehouse.batches.land(spec, "id,v,ver,d\n1,a,1,2025-05-01\n2,b,1,2025-05-01\n")
    warehouse.load_again(spec, manifest)
    warehouse.sql("INSERT INTO orders VALUES (1, 'by hand', 2, '2025-05-02'), (2, 'by hand', 0, '2025-05-02')")

    dedupe(warehouse)

    assert warehouse.sql("SELECT id, v FROM orders ORDER BY id") == [(1, "by hand"), (2, "b")]
    assert warehouse.events("public.orders")[-1] == ("*", "dedupe", "dedupe", "published")
    assert warehouse.sql("SELECT deleted, beyond_batch FROM airflow_idempotent.events WHERE step = 'dedupe'") == [
        (2, 2)
    ]
    assert warehouse.sql("SELECT partition_key FROM airflow_idempotent.partitions") == [("2025-05-01",)]
    [reconcile] = [check for check in warehouse.validate(spec, manifest).checks if check.check == "reconcile"]
    assert reconcile.message == "batch dedupe has written to this partition since"


def test_no_transaction_removes_more_rows_than_a_chunk_may(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders AS SELECT g % 7 AS id, 'v' || g AS v, g AS ver FROM generate_series(1, 300) g")
    warehouse.sql("INSERT INTO orders SELECT 3, 'many', g FROM generate_series(1, 500) g")
    warehouse.sql("CREATE TABLE removed (in_transaction xid8, id int)")
    warehouse.sql(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN INSERT INTO removed VALUES (pg_current_xact_id(), OLD.id); RETURN OLD; END $$"
    )
    warehouse.sql("CREATE TRIGGER note AFTER DELETE ON orders FOR EACH ROW EXECUTE FUNCTION note()")

    done = dedupe(warehouse, chunk_rows=60)

    chunks = [found for (found,) in warehouse.sql("SELECT count(*) FROM removed GROUP BY in_transaction")]
    assert (sum(chunks), done.removed, done.duplicates) == (793, 793, 793)
    assert max(chunks) <= 60
    assert len(chunks) == done.chunks
    assert warehouse.sql("SELECT id, v FROM orders WHERE id = 3") == [(3, "many")]


# --- tables as they are -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data_type", "less", "more"),
    [
        ("numeric", "1.0", "NaN"),
        ("float8", "-Infinity", "0.1"),
        ("timestamptz", "-infinity", "2025-05-01 12:00:00.123456+02"),
        ("timestamp", "0044-03-15 00:00:00 BC", "infinity"),
        ("bytea", "\\x00", "\\x5c27"),
        ("uuid", "00000000-0000-0000-0000-000000000001", "ffffffff-0000-0000-0000-000000000001"),
        ("interval", "1 day", "1 mon -3 days"),
        ("int4range", "[1,3)", "[2,)"),
        ("text[]", "{}", '{"a,b",NULL,"\\"%s"}'),
        ("jsonb", '{"a": 1}', '{"a": "%(x)s", "b": null}'),
        ("inet", "10.0.0.1", "10.0.0.2/8"),
        ("mood", "sad", "happy"),
        ("short", "a", "b"),
        ("character(4)", "a", "b "),
        ("boolean", "f", "t"),
    ],
)
def test_keys_of_any_type_that_has_an_order(connect: Connect, data_type: str, less: str, more: str) -> None:
    warehouse = Warehouse(connect)
    warehouse.sql("CREATE TYPE mood AS ENUM ('sad', 'happy')")
    warehouse.sql("CREATE DOMAIN short AS varchar(3)")
    warehouse.sql(f'CREATE TABLE orders (id {data_type}, "%s" int, ver int)')
    for key in (less, more, less, more, more):
        warehouse.sql("INSERT INTO orders VALUES (%s, 1, (SELECT count(*) FROM orders))", [key])

    done = dedupe(warehouse, key=("id", "%s"), chunk_rows=1)

    assert (done.removed, done.chunks) == (3, 3)
    assert warehouse.sql("SELECT ver FROM orders ORDER BY 1") == [(2,), (4,)]


def test_columns_without_equality_generated_columns_and_odd_names(warehouse: Warehouse) -> None:
    warehouse.sql('CREATE SCHEMA "Sales %s"')
    name = '"Sales %s"."Or""der"'
    warehouse.sql(
        f'CREATE TABLE {name} ("k0" int, "select" int, "Größe" json, place point, '
        '"rank" path, twice int GENERATED ALWAYS AS ("k0" * 2) STORED)'
    )
    for content in ("""'{"a": 1}', '(1,2)'""", """'{"b": 1}', '(1,2)'""", """'{"b": 1}', '(0,2)'"""):
        warehouse.sql(f"INSERT INTO {name} VALUES (1, 1, {content}, '((1,2))')")
    warehouse.sql(f"INSERT INTO {name} VALUES (2, 1, NULL, NULL, NULL)")

    done = dedupe(warehouse, name, ("select", "k0"), ())

    assert done.removed == 2
    assert warehouse.sql(f'SELECT "Größe"::text, place::text, twice FROM {name} ORDER BY "k0"') == [
        ('{"b": 1}', "(1,2)", 2),
        (None, None, 4),
    ]
    assert done.index_advice == 'CREATE UNIQUE INDEX CONCURRENTLY ON "Sales %s"."Or""der"("select", "k0")'
    warehouse.sql(done.index_advice.replace(" CONCURRENTLY", ""))
    assert dedupe(warehouse, name, ("select", "k0"), ()).index_advice == ""


def test_a_row_is_one_row_of_one_child_of_a_partitioned_table(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, day date, ver int) PARTITION BY RANGE (day)")
    for day in ("01", "02"):
        bounds = f"FROM ('2025-05-{day}') TO ('2025-05-{int(day) + 1:02}')"
        warehouse.sql(f"CREATE TABLE orders_{day} PARTITION OF orders FOR VALUES {bounds}")
    warehouse.sql("INSERT INTO orders VALUES (1, '2025-05-01', 9), (1, '2025-05-02', 1), (2, '2025-05-01', 1)")

    done = dedupe(warehouse)

    assert (done.removed, done.index_advice) == (1, "")
    assert warehouse.sql("SELECT id, ver FROM orders ORDER BY 1") == [(1, 9), (2, 1)]


def test_an_index_is_advised_only_when_it_can_be_made(warehouse: Warehouse) -> None:
    orders(warehouse, "(1, 'a', 1), (NULL, 'b', 1)")

    assert dedupe(warehouse).index_advice == ""
    warehouse.sql("DELETE FROM orders WHERE id IS NULL")
    assert dedupe(warehouse).index_advice == 'CREATE UNIQUE INDEX CONCURRENTLY ON "public"."orders"("id")'
    warehouse.sql("CREATE UNIQUE INDEX ON orders (id)")
    assert dedupe(warehouse, key=("id", "ver")).index_advice == ""


# --- who refuses ------------------------------------------------------------------------------------------------------


@pytest.fixture
def referenced(warehouse: Warehouse) -> Warehouse:
    """Give orders of which number 2 and 12 are one, and the older of them has a line."""
    orders(warehouse, "(1, 1, 1), (11, 1, 2), (2, 2, 1), (12, 2, 2)", "number int PRIMARY KEY, id int, ver int")
    warehouse.sql("CREATE TABLE lines (number int)")
    warehouse.sql("INSERT INTO lines VALUES (2), (12)")
    return warehouse


@pytest.mark.parametrize(
    ("on_delete", "effect"),
    [
        ("", ""),
        ("ON DELETE RESTRICT", ""),
        ("DEFERRABLE INITIALLY DEFERRED", ""),
        ("ON DELETE CASCADE", "ON DELETE CASCADE"),
        ("ON DELETE SET NULL", "ON DELETE SET NULL"),
    ],
)
def test_rows_that_others_refer_to_stay_and_so_do_the_others(
    referenced: Warehouse, on_delete: str, effect: str
) -> None:
    referenced.sql(f"ALTER TABLE lines ADD CONSTRAINT of_order FOREIGN KEY (number) REFERENCES orders {on_delete}")

    with pytest.raises(StillReferencedError) as refused:
        dedupe(referenced, chunk_rows=1)

    error = refused.value
    assert (error.constraint, error.referring, error.effect) == ("of_order", "public.lines", effect)
    assert "chunk 2" in error.headline
    assert referenced.sql("SELECT number FROM orders ORDER BY 1") == [(2,), (11,), (12,)]
    assert referenced.sql("SELECT number FROM lines ORDER BY 1") == [(2,), (12,)]
    referenced.sql("UPDATE lines SET number = 12")
    assert dedupe(referenced, chunk_rows=1).removed == 1


def test_a_trigger_that_keeps_a_row_ends_the_run(warehouse: Warehouse) -> None:
    orders(warehouse, "(1, 'a', 1), (1, 'b', 2)")
    warehouse.sql("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    warehouse.sql("CREATE TRIGGER keep BEFORE DELETE ON orders FOR EACH ROW EXECUTE FUNCTION keep()")

    with pytest.raises(ConstraintError, match="a trigger or a policy kept 1 of 1 duplicates"):
        dedupe(warehouse)


@pytest.mark.parametrize(
    ("table", "key", "version", "said"),
    [
        ("Orders", "id", "ver", "there is no such table"),
        ("orders", "idd", "ver", "the table has no column 'idd'"),
        ("orders", "id", "Ver", "the table has no column 'Ver'"),
    ],
)
def test_what_is_not_there_is_named(warehouse: Warehouse, table: str, key: str, version: str, said: str) -> None:
    orders(warehouse, "(1, 'a', 1), (1, 'b', 2)")

    with pytest.raises(UsageError, match=said) as refused:
        dedupe(warehouse, table, (key,), (version,))

    assert "orders" in refused.value.next_move or "id, v, ver" in refused.value.next_move


def test_a_key_without_an_order_is_refused_by_the_database(warehouse: Warehouse) -> None:
    orders(warehouse, "('{}', 'a', 1), ('{}', 'b', 2)", "id json, v text, ver int")

    with pytest.raises(DatabaseError, match="json"):
        dedupe(warehouse)

    assert len(warehouse.sql("SELECT 1 FROM orders")) == 2


# --- beside others ----------------------------------------------------------------------------------------------------


def test_readers_go_on_while_a_chunk_is_removed_and_writers_wait(warehouse: Warehouse) -> None:
    orders(warehouse, "(1, 'a', 1), (1, 'b', 2)")
    seen: list[Any] = []

    def look(what: str) -> None:
        if what.startswith("after DELETE"):
            seen.extend(warehouse.sql("SELECT count(*) FROM orders"))
            with pytest.raises(Exception, match="lock timeout"):
                warehouse.sql("SET lock_timeout = '50ms'; UPDATE orders SET ver = 9")

    dedupe(warehouse, connect=lambda: Watched(warehouse.connect(), look))

    assert seen == [(2,)]
    assert warehouse.sql("SELECT * FROM orders") == [(1, "b", 2)]


def test_what_somebody_writes_before_a_chunk_is_judged_as_it_is_then(warehouse: Warehouse) -> None:
    """The row that would have gone becomes the best, between the look and the deletion."""
    orders(warehouse, "(1, 'a', 1), (1, 'b', 2)")
    seen = count()

    def write(what: str) -> None:
        if what.startswith("after ANALYZE") and not next(seen):
            warehouse.sql("UPDATE orders SET ver = 3 WHERE v = 'a'")

    dedupe(warehouse, connect=lambda: Watched(warehouse.connect(), write))

    assert warehouse.sql("SELECT * FROM orders") == [(1, "a", 3)]


def test_a_writer_that_does_not_end_is_named_and_nothing_waits_for_ever(warehouse: Warehouse) -> None:
    orders(warehouse, "(1, 'a', 1), (1, 'b', 2)")
    with warehouse.session() as other:
        other.execute("INSERT INTO orders VALUES (2, 'c', 1)")

        with pytest.raises(LockTimeoutError) as refused:
            dedupe(warehouse, lock_timeout=0.2)

    assert refused.value.headline.startswith("public.orders chunk 1: locked by another session")
    assert refused.value.holders
    assert dedupe(warehouse).removed == 1


def test_loads_beside_it_lose_nothing(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders AS SELECT g % 100 AS id, 'old' AS v, g AS ver FROM generate_series(1, 1000) g")
    spec = LoadSpec(table="orders", unique_key=["id"], version=["ver"], lock_timeout=60)
    news = "id,v,ver\n" + "".join(f"{number},new,{2000 + number}\n" for number in range(100, 200))

    with ThreadPoolExecutor(1) as pool:
        loaded = pool.submit(
            lambda: [warehouse.load(spec, news, partition=f"2025-05-{day:02}") for day in range(1, 11)]
        )
        done = dedupe(warehouse, chunk_rows=20)
        effects = [receipt.effects for receipt in loaded.result()]

    assert sum(effect.inserted for effect in effects) == 100
    assert done.removed == 900
    assert warehouse.sql("SELECT count(*), count(DISTINCT id), min(ver) FROM orders") == [(200, 200, 901)]


def test_two_of_them_at_once_end_as_one(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders AS SELECT g % 100 AS id, 'v' AS v, g AS ver FROM generate_series(1, 2000) g")

    with ThreadPoolExecutor(2) as pool:
        done = [one.result() for one in [pool.submit(dedupe, warehouse, chunk_rows=50) for _ in range(2)]]

    assert sum(one.removed for one in done) == 1900
    assert warehouse.sql("SELECT count(*), count(DISTINCT id), min(ver) FROM orders") == [(100, 100, 1901)]
